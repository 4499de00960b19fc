"""Who changed what: against the statements run on the reference tables, and against their logs read plainly."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import DomainMetadata
from explorer.core.versions.record_search import EntryFilter, matching_entries
from explorer.core.versions.settings_history import SETTING_TEXTS
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.shared_tables import reference_root

Row = tuple[int, str, str, str | None, str | None]


def table_named(name: str) -> explorer.Table:
    return explorer.open_table(reference_root() / "tables" / name)


def rows(found: Any) -> list[Row]:
    """Version, kind, name, before and after, oldest first."""
    listed = reversed(found.to_pylist())
    return [(row["version"], row["kind"], row["name"], row["before"], row["after"]) for row in listed]


def changed(table: explorer.Table) -> set[Row]:
    history = table.settings_history()
    return {
        row
        for row, initial in zip(rows(history), reversed(history.column("initial").to_pylist()), strict=True)
        if not initial
    }


# What COMMITS.md says that each statement committed.
STATEMENTS: dict[str, list[Row]] = {
    "column-mapping": [
        (2, "property", "delta.columnMapping.mode", None, "name"),
        (2, "protocol", "protocol", "reader 1, writer 2", "reader 2, writer 7"),
        (2, "feature", "columnMapping", None, "supported"),
        (4, "name", "title", "name", "title"),
        (5, "name", "s.alpha", "s.a", "s.alpha"),
        (8, "name", "part", "p", "part"),
        (10, "column", "s.b", "string", None),
        (21, "property", "delta.columnMapping.mode", "name", "none"),
        (22, "property", "delta.columnMapping.mode", "none", None),
    ],
    "constraints": [
        (2, "constraint", "positive", None, "amount > 0 OR amount IS NULL"),
        (2, "protocol", "protocol", "reader 1, writer 2", "reader 1, writer 3"),
        (8, "constraint", "positive", "amount > 0 OR amount IS NULL", None),
        (11, "nullability", "id", "not null", "nullable"),
        (14, "nullability", "s.a", "not null", "nullable"),
        (19, "feature", "checkConstraints", "supported", None),
    ],
    "clustering": [(4, "clustering", "clustering", "a, b", "s.x, b"), (9, "clustering", "clustering", "s.x, bb", None)],
    "schema-changes": [
        (2, "column", "c2", None, "string"),
        (2, "comment", "c2", None, "second"),
        (8, "order", "s", "a, c, b, d", "d, a, c, b"),
        (13, "column", "arr.element.x", None, "integer"),
        (19, "partitioning", "partitioning", "p", None),
    ],
    "change-feed": [(2, "property", "delta.enableChangeDataFeed", None, "true")],
}


@pytest.mark.reference
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_one_change_of_what_it_changed(name: str) -> None:
    assert set(STATEMENTS[name]) <= changed(table_named(name))


@pytest.mark.reference
def test_no_change_is_listed_twice_and_a_statement_without_effect_is_none() -> None:
    table = table_named("properties")
    found = rows(table.settings_history())
    assert len(found) == len(set(found))
    # The same value again, and a property unset that was not set: both write the metadata as it was.
    assert not {3, 5} & {version for version, *_ in found}
    assert [row[1:] for row in found if row[0] in {17, 18, 19}] == [
        ("description", "description", *change) for change in _descriptions(table)
    ]


def _descriptions(table: explorer.Table) -> list[tuple[str | None, str | None]]:
    said = [table.snapshot(version).metadata.description or None for version in range(16, 20)]
    return [(before, after) for before, after in pairwise(said) if before != after]


def _plain_properties(folder: Path) -> set[Row]:
    """The changes of properties and constraints, from the commits as plain JSON."""
    found: set[Row] = set()
    before: dict[str, str] | None = None
    for file in sorted((folder / "_delta_log").glob("*.json")):
        if not file.stem.isdecimal():
            continue
        for line in file.read_text().splitlines():
            action = json.loads(line).get("metaData") if line.strip() else None
            if action is None:
                continue
            now = {key: value for key, value in action["configuration"].items() if not key.endswith(".maxColumnId")}
            if before is not None:
                for key in {*before, *now}:
                    if before.get(key) != now.get(key):
                        kind = "constraint" if key.startswith("delta.constraints.") else "property"
                        name = key.removeprefix("delta.constraints.")
                        found.add((int(file.stem), kind, name, before.get(key), now.get(key)))
            before = now
    return found


@pytest.mark.reference
def test_properties_and_constraints_are_those_of_the_logs_read_plainly() -> None:
    compared = 0
    for folder in sorted((reference_root() / "tables").iterdir()):
        if not (folder / "_delta_log" / f"{0:020}.json").exists():
            continue
        found = {row for row in changed(explorer.open_table(folder)) if row[1] in {"property", "constraint"}}
        assert found == _plain_properties(folder), folder.name
        compared += len(found)
    assert compared > 30


@pytest.mark.reference
def test_everything_of_the_first_version_belongs_to_who_created_the_table() -> None:
    history = table_named("properties").settings_history().to_pylist()
    first = [row for row in history if row["initial"]]
    assert {(row["version"], row["operation"], row["known"]) for row in first} == {(0, "CREATE TABLE", True)}


@pytest.mark.reference
def test_where_the_log_begins_later_nobody_is_named() -> None:
    found = table_named("log-cleanup").blame("delta.checkpointInterval").to_pylist()
    assert [(row["version"], row["known"], row["user_name"], row["operation"], row["after"]) for row in found] == [
        (6, False, None, None, "3")
    ]


DAY = 86_400_000


def _story() -> explorer.Table:
    def fields(**nullable: bool) -> str:
        listed = [{"name": name, "type": "string", "nullable": each, "metadata": {}} for name, each in nullable.items()]
        return json.dumps({"type": "struct", "fields": listed})

    def metadata(configuration: dict[str, str] | None = None, **nullable: bool) -> dict[str, Any]:
        known = {"id": "t", "format": {"provider": "parquet"}, "partitionColumns": []}
        return {"metaData": known | {"schemaString": fields(**nullable), "configuration": configuration or {}}}

    def info(user: str, reason: str | None, day: int) -> dict[str, Any]:
        stated = {"timestamp": small_logs.LONG_AGO + day * DAY, "operation": "CHANGE COLUMN", "userName": user}
        return {"commitInfo": stated | ({} if reason is None else {"userMetadata": reason})}

    check = {"delta.constraints.len": "length(phone) > 5"}
    domain = DomainMetadata(domain="app", configuration="{}")
    return small_logs.table(
        {
            0: [info("ana", None, 0), small_logs.PROTOCOL, metadata(phone=False, id=False)],
            1: [info("eva", None, 1), metadata(check, phone=False, id=False)],
            2: [info("ana", '"import of legacy"', 2), metadata(check, phone=True, id=False)],
            3: [info("ben", None, 3), domain],
            4: [info("ben", "cleaning", 4), metadata(phone=True, id=False)],
        }
    )


def test_a_column_says_since_when_by_whom_and_why() -> None:
    found = _story().blame("phone").to_pylist()
    assert [(row["version"], row["kind"], row["after"], row["user_name"], row["current"]) for row in found] == [
        (4, "constraint", None, "ben", False),
        (2, "nullability", "nullable", "ana", True),
        (1, "constraint", "length(phone) > 5", "eva", False),
        (0, "column", "string not null", "ana", True),
    ]
    assert found[1]["reason"] == "import of legacy"
    assert found[1]["before"] == "not null"


def test_without_a_name_it_is_how_everything_is_now() -> None:
    found = {(row["kind"], row["name"]): row["version"] for row in _story().blame().to_pylist()}
    assert found["nullability", "phone"] == 2
    assert found["column", "id"] == 0
    assert found["domain", "app"] == 3
    assert ("constraint", "len") not in found


def test_a_name_that_nothing_has_is_refused_with_those_near_it() -> None:
    with pytest.raises(RequestError, match="phone") as caught:
        _story().blame("phnoe")
    assert caught.value.nearest == ["phone"]
    assert caught.value.table is not None


@pytest.mark.parametrize(
    ("wanted", "versions"),
    [
        ({"by": "EVA"}, [1]),
        ({"text": "legacy"}, [2]),
        ({"text": "LENGTH(phone)"}, [4, 1]),
        ({"operation": "change", "by": "ben"}, [4, 3]),
        ({"since": datetime(2027, 1, 1, tzinfo=UTC)}, []),
    ],
)
def test_changes_are_found_by_person_operation_text_and_time(wanted: dict[str, Any], versions: list[int]) -> None:
    found = matching_entries(_story().settings_history(), EntryFilter(**wanted), SETTING_TEXTS)
    assert list(dict.fromkeys(found.column("version").to_pylist())) == versions


@pytest.mark.reference
def test_a_column_is_followed_through_its_renames() -> None:
    found = table_named("column-mapping").blame("s.alpha").to_pylist()
    assert [(row["version"], row["kind"], row["before"], row["after"]) for row in found] == [
        (5, "name", "s.a", "s.alpha"),
        (0, "column", None, "integer"),
    ]


@pytest.mark.reference
def test_a_name_that_is_gone_means_what_had_it_last() -> None:
    table = table_named("column-mapping")
    assert [row["after"] for row in table.blame("l.element.ex").to_pylist()] == [None, "l.element.ex", "integer"]
    # Dropped in version 11, and another column has the name since version 12.
    assert [row["version"] for row in table.blame("title").to_pylist()] == [12]


def test_domains_of_a_checkpoint_are_known_where_the_log_begins_with_it() -> None:
    store = small_logs.new_store()
    domain = DomainMetadata(domain="app", configuration="{}")
    actions = [small_logs.PROTOCOL, small_logs.METADATA, domain]
    small_logs.write(store, {3: [small_logs.add("a")], 4: [DomainMetadata(domain="app", removed=True)]})
    write_checkpoint(store, 3, [*actions, small_logs.add("a")], "classic")
    found = explorer.Table(store).blame("app").to_pylist()
    assert [(row["version"], row["after"], row["known"]) for row in found] == [(4, None, True), (3, "{}", False)]
