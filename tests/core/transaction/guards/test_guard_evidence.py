"""The evidence of guards on columns, names, files and places, whole: what was found, in words, and what to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Action, DomainMetadata
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.transaction.guards.columns import (
    FEED_COLUMNS,
    _invariant_text,
    char_guard,
    check_free,
    check_unique,
    clustering_guard,
    constraint_guard,
    generated_guard,
    mapping_guard,
    names_guard,
    partition_guard,
)
from explorer.core.transaction.guards.files import _outer_places, file_guards, place_guards
from explorer.core.transaction.proposal import GuardResult
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.small_schemas import mapped_table
from tests.support.logs.spark_tables import column, struct

Paths = list[tuple[str, ...]]
DROP_FIRST = "Drop the constraint first, and add it again afterwards."
CLUSTERED = protocol(1, 7, w="clustering domainMetadata")


def invariant(text: str) -> str:
    return json.dumps({"expression": {"expression": text}})


RULED = struct(
    column("a", "long", **{"delta.invariants": invariant("b > 0")}),
    column("b", "long"),
    column("c", "long", **{"delta.invariants": "c > 1"}),
    column(
        "s",
        struct(column("x", "long", **{"delta.invariants": invariant("c < b")}), column("y", "long")),
        **{"delta.invariants": invariant("s.x > 0")},
    ),
    column("free", "long"),
)


def ruled(**properties: str) -> explorer.Snapshot:
    named = {f"delta.constraints.{name}": text for name, text in properties.items()}
    return snapshot(schema=json.dumps(RULED), properties=named)


def test_names_in_files_that_change_stand_against_a_rename() -> None:
    found = mapping_guard(snapshot())
    detail = "Without column mapping, data files use these names for the columns."
    remedy = "Switch column mapping to name first (set-column-mapping); clients must then be able to read it."
    evidence = {"delta.columnMapping.mode": "none", "detail": detail}
    assert found == GuardResult("column-mapping", "fail", evidence, remedy)
    detail = "Data files use physical column names that do not change."
    evidence = {"delta.columnMapping.mode": "name", "detail": detail}
    assert mapping_guard(mapped_table()) == GuardResult("column-mapping", "pass", evidence)


@pytest.mark.parametrize(
    ("paths", "expressions"),
    [
        (
            [("b",)],
            {"constraint low": "B > 0", "invariant of a": "b > 0", "invariant of s.x": "c < b"},
        ),
        ([("c",)], {"constraint more": "c < 3", "invariant of s.x": "c < b"}),
        (
            [("c",), ("b",)],
            {"constraint low": "B > 0", "constraint more": "c < 3", "invariant of a": "b > 0"}
            | {"invariant of s.x": "c < b"},
        ),
        ([("s",)], {}),
        ([("s", "x")], {"invariant of s": "s.x > 0"}),
        ([("free",), ("s", "x")], {"invariant of s": "s.x > 0"}),
        ([("free",)], {}),
    ],
)
def test_expressions_that_mention_a_column_are_told_but_not_those_that_go_with_it(
    paths: Paths, expressions: dict[str, str]
) -> None:
    before = ruled(low="B > 0", more="c < 3")
    found = constraint_guard(before, paths)
    if not expressions:
        looked = 4 if paths == [("s",)] else 6
        evidence: dict[str, object] = {"looked at": looked, "detail": "No constraint or invariant names the columns."}
        assert found == GuardResult("constraint-columns", "pass", evidence)
        return
    hit = [path for path in paths if path != ("free",)]
    are = "is" if len(hit) == 1 else "are"
    detail = f"{', '.join('.'.join(path) for path in hit)} {are} named by {', '.join(expressions)}."
    evidence = {"expressions": expressions, "detail": detail}
    assert found == GuardResult("constraint-columns", "fail", evidence, DROP_FIRST)
    assert isinstance(found.evidence["expressions"], dict)
    assert list(found.evidence["expressions"]) == list(expressions)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (invariant("a > 0"), "a > 0"),
        ({"expression": {"expression": "a > 0"}}, "a > 0"),
        (json.dumps({"expression": {"expression": 3}}), "3"),
        ("a > 0", "a > 0"),
        ('{"expression": {"other": 1}}', '{"expression": {"other": 1}}'),
        ("7", "7"),
        (7, "7"),
        (True, "True"),
    ],
)
def test_the_sql_of_an_invariant_is_inside_json_or_bare(value: JsonValue, text: str) -> None:
    assert _invariant_text(value) == text


def computed(name: str, text: str) -> dict[str, Any]:
    return column(name, "long", **{"delta.generationExpression": text})


@pytest.mark.parametrize(
    ("paths", "expressions"),
    [
        ([("b",)], {"generated column g": "b + 1", "generated column `o d`": "b * 2"}),
        ([("g",), ("b",)], {"generated column `o d`": "b * 2"}),
        ([("g",), ("o d",), ("b",)], None),
        ([("c",)], None),
    ],
)
def test_columns_computed_from_a_column_stand_against_its_loss(
    paths: Paths, expressions: dict[str, str] | None
) -> None:
    schema = struct(computed("g", "b + 1"), computed("o d", "b * 2"), column("b", "long"), column("c", "long"))
    found = generated_guard(snapshot(schema=json.dumps(schema)), paths)
    if expressions is None:
        looked = 2 - sum(path[0] in {"g", "o d"} for path in paths)
        evidence: dict[str, object] = {
            "looked at": looked,
            "detail": "No generated column is computed from the columns.",
        }
        assert found == GuardResult("generated-columns", "pass", evidence)
        return
    evidence = {"expressions": expressions, "detail": f"b is needed to compute {', '.join(expressions)}."}
    assert found == GuardResult("generated-columns", "fail", evidence, "Drop the generated column first.")


@pytest.mark.parametrize(
    ("paths", "hit"),
    [
        ([("day",)], ["day"]),
        ([("free",), ("DAY",), ("a b",)], ["DAY", "`a b`"]),
        ([("s", "Day")], []),
        ([("free",)], []),
    ],
)
def test_partition_columns_are_known_whatever_their_case(paths: Paths, hit: list[str]) -> None:
    columns = {"Day": "date", "a b": "string", "free": "long"}
    made = small_logs.metadata(columns, ["Day", "a b"])
    found = partition_guard(small_logs.table({0: [small_logs.PROTOCOL, made]}).snapshot(), paths)
    evidence: dict[str, object] = {"partitionColumns": ["Day", "a b"]}
    if not hit:
        evidence["detail"] = "No partition column is touched."
        assert found == GuardResult("partition-columns", "pass", evidence)
        return
    evidence |= {"columns": hit, "detail": f"The table is partitioned by {', '.join(hit)}."}
    remedy = "Rewrite the table with other partition columns; they cannot be dropped."
    assert found == GuardResult("partition-columns", "fail", evidence, remedy)


def clustered(configuration: str) -> explorer.Snapshot:
    schema = struct(column("id", "long"), column("s", struct(column("o d", "long"))), column("free", "long"))
    domain = DomainMetadata(domain="delta.clustering", configuration=configuration)
    return snapshot(domain, rules=CLUSTERED, schema=json.dumps(schema))


@pytest.mark.parametrize(
    ("paths", "hit"),
    [
        ([("id",)], ["id"]),
        ([("free",), ("s",)], ["s.`o d`"]),
        ([("s", "o d"), ("id",)], ["id", "s.`o d`"]),
        ([("free",)], []),
    ],
)
def test_clustering_columns_are_kept_with_what_they_are_in(paths: Paths, hit: list[str]) -> None:
    found = clustering_guard(clustered('{"clusteringColumns": [["id"], ["s", "o d"]]}'), paths)
    evidence: dict[str, object] = {"clusteringColumns": ["id", "s.`o d`"]}
    if not hit:
        evidence["detail"] = "No clustering column is touched."
        assert found == GuardResult("clustering-columns", "pass", evidence)
        return
    evidence |= {"columns": hit, "detail": f"The table is clustered by {', '.join(hit)}."}
    remedy = "Cluster the table by other columns first (ALTER TABLE ... CLUSTER BY in Spark)."
    assert found == GuardResult("clustering-columns", "fail", evidence, remedy)


def test_clustering_columns_that_cannot_be_read_leave_the_guard_unknown() -> None:
    found = clustering_guard(clustered('{"clusteringColumns": [["gone"]]}'), [("id",)])
    detail = "The domain delta.clustering names the column 'gone' (its name in the files), which the schema does not"
    assert (found.name, found.status, found.remedy) == (
        "clustering-columns", "unknown", "Cluster the table again first."
    )  # fmt: skip
    assert found.evidence == {"detail": f"{detail} have."}


def test_clustering_columns_are_known_by_their_names_in_the_files() -> None:
    rules = protocol(2, 7, w="clustering domainMetadata columnMapping")
    domain = DomainMetadata(domain="delta.clustering", configuration='{"clusteringColumns": [["col-1"]]}')
    before = mapped_table(struct(column("shown", "long")), rules=rules)
    assert clustering_guard(before, [("shown",)]).status == "pass"
    made: list[Action] = [rules, before.metadata, domain]
    found = clustering_guard(small_logs.table({0: made}).snapshot(), [("shown",)])
    assert (found.status, found.evidence["columns"]) == ("fail", ["shown"])


@pytest.mark.parametrize(
    ("paths", "hit"),
    [
        ([("s", "x")], ["s"]),
        ([("free",), ("s", "x"), ("a b", "element", "y")], ["s", "`a b`"]),
        ([("s",)], None),
        ([("s",), ("free",)], None),
        ([("t", "x")], None),
    ],
)
def test_lengths_that_the_metadata_of_a_column_spells_out_would_become_wrong(
    paths: Paths, hit: list[str] | None
) -> None:
    key = "__CHAR_VARCHAR_TYPE_STRING"
    inside = {"type": "array", "elementType": struct(column("y", "string")), "containsNull": True}
    schema = struct(
        column("s", struct(column("x", "string")), **{key: "struct<x:char(2)>"}),
        column("a b", inside, **{key: "array<struct<y:char(2)>>"}),
        column("t", struct(column("x", "string"))),
        column("free", "string"),
    )
    found = char_guard(parse_schema(json.dumps(schema)), paths)
    if hit is None:
        assert found is None
        return
    detail = f"The metadata of {', '.join(hit)} spells out its CHAR and VARCHAR parts, and would become wrong."
    remedy = "Make this change with the engine that created the column; it rewrites that metadata."
    assert found == GuardResult("char-types", "fail", {"columns": hit, "detail": detail}, remedy)


def test_the_columns_of_the_change_data_feed_are_those_of_the_protocol() -> None:
    assert sorted(FEED_COLUMNS) == ["_change_type", "_commit_timestamp", "_commit_version"]
    on = {"delta.enableChangeDataFeed": "TRUE"}
    found = names_guard([("_Commit_Timestamp",), ("a",)], mapped=False, configuration=on)
    assert (found.status, found.evidence["columns"], found.evidence["names"]) == (
        "fail", ["_Commit_Timestamp", "a"], ["_Commit_Timestamp"]
    )  # fmt: skip


@pytest.mark.parametrize("mark", list(" ,;{}()\n\t="))
def test_none_of_the_marks_that_parquet_writers_refuse_is_in_a_name(mark: str) -> None:
    names: Paths = [("s", f"x{mark}y"), ("x.y",), (f"p{mark}q", "z")]
    found = names_guard(names, mapped=False, configuration={})
    assert (found.status, found.evidence["names"]) == ("fail", [f"s.`x{mark}y`"])
    assert names_guard(names, mapped=True, configuration={}).status == "pass"


@pytest.mark.parametrize(
    ("name", "taken", "bearer"), [("new", ["a", "b"], None), ("B", ["a", "b"], "b"), ("b", ["a", "B"], "B")]
)
def test_a_name_is_free_where_no_other_differs_in_case_alone(name: str, taken: list[str], bearer: str | None) -> None:
    if bearer is None:
        check_free(name, taken, "to")
        assert name not in taken
        return
    with pytest.raises(InvalidIntent) as refused:
        check_free(name, taken, "to")
    assert str(refused.value) == (
        f"The table already has a column {bearer!r}; names must differ in more than case. Choose another name."
    )
    assert (refused.value.field, refused.value.found) == ("to", name)


@pytest.mark.parametrize(
    ("schema", "said", "found"),
    [
        (struct(column("a", "long"), column("s", struct(column("A", "long"))), column("b", "long")), None, None),
        (struct(column("a", "long"), column("b", "long"), column("A", "long")), "already has a column 'A'", "A"),
        (
            struct(column("s", struct(column("x", "long"), column("y", "long"), column("X", "long")))),
            "already has a column 'X'",
            "X",
        ),
        (struct(column("", "long")), "A column needs a name.", None),
    ],
)
def test_names_are_unique_in_every_struct(schema: dict[str, Any], said: str | None, found: str | None) -> None:
    parsed = parse_schema(json.dumps(schema))
    if said is None:
        check_unique(parsed, "schema")
        assert len(parsed.fields) == 3
        return
    with pytest.raises(InvalidIntent) as refused:
        check_unique(parsed, "schema")
    assert said in str(refused.value)
    assert (refused.value.field, refused.value.found) == ("schema", found)


def stored(*names: str) -> LogStore:
    store = small_logs.new_store()
    for name in names:
        store.put(name, b"x")
    return store


@pytest.mark.parametrize(
    ("there", "asked", "missing", "detail"),
    [
        (["a", "b"], ["a", "b"], [], "All 2 files exist."),
        (["a"], ["a"], [], "The one file exists."),
        (["a"], ["a", "b"], ["b"], "1 of 2 files is missing, such as b."),
        (["a"], ["c", "a", "b"], ["b", "c"], "2 of 3 files are missing, such as b."),
        ([], ["a"], ["a"], "The only file is missing: a."),
    ],
)
def test_files_that_a_commit_names_are_looked_for(
    there: list[str], asked: list[str], missing: list[str], detail: str
) -> None:
    [found] = file_guards(stored(*there), asked)
    evidence = {"files": len(asked), "missing": missing, "numMissing": len(missing), "detail": detail}
    remedy = "Choose a version whose files still exist, or restore them from a backup." if missing else None
    assert found == GuardResult("files-exist", "fail" if missing else "pass", evidence, remedy)


def test_of_many_missing_files_ten_are_named_and_all_are_counted() -> None:
    asked = [f"{number:04}" for number in range(1_200)]
    [found] = file_guards(stored("other"), asked)
    assert (found.evidence["missing"], found.evidence["numMissing"]) == (asked[:10], 1_200)
    assert found.evidence["detail"] == "1,200 of 1,200 files are missing, such as 0000."
    [there] = file_guards(stored(*asked), asked)
    assert there.evidence["detail"] == "All 1,200 files exist."


def test_files_that_cannot_be_looked_for_leave_the_guard_unknown() -> None:
    store = FaultyStore(stored("a"), {-1: "fails"})
    assert file_guards(store, []) == ()
    assert store.requests == []
    [found] = file_guards(store, ["a", "b"])
    detail = "The files could not be checked: The connection broke at request 0, head a."
    evidence = {"files": 2, "detail": detail}
    assert found == GuardResult("files-exist", "unknown", evidence, "Try again, or accept this guard by name.")


def test_a_place_is_free_and_outside_other_tables(tmp_path: Path) -> None:
    place = tmp_path / "a%20b" / "new"
    (place / "_delta_log").mkdir(parents=True)
    (place / "_delta_log" / "x.tmp").write_bytes(b"x")
    free, outside = place_guards(open_store(place))
    assert free == GuardResult("location-free", "pass", {"detail": "The folder is empty."})
    around = [str(folder) for folder in place.parents if str(folder) != "/"]
    evidence = {"looked at": around, "detail": "The place is not inside another table."}
    assert outside == GuardResult("outside-other-tables", "pass", evidence)
    _, allowed = place_guards(open_store(place, roots=AllowedRoots([str(place.parent)])))
    assert (allowed.status, allowed.evidence["looked at"]) == ("pass", around[:1])


def test_a_place_inside_a_table_or_with_files_is_refused_with_what_is_there(tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    small_logs.write(open_store(outer), {0: [small_logs.PROTOCOL, small_logs.METADATA]})
    place = outer / "deep" / "new"
    place.mkdir(parents=True)
    for name in "gfedcba":
        (place / name).write_bytes(b"x")
    free, outside = place_guards(open_store(place))
    assert isinstance(free.evidence["files"], list)
    shown = free.evidence["files"]
    assert (len(shown), shown) == (5, sorted(shown))
    assert set(shown) < set("abcdefg")
    detail = f"The folder already holds files, such as {shown[0]}."
    remedy = "Choose an empty folder. To bring these files into a table, append them to another table."
    assert free == GuardResult("location-free", "fail", {"files": shown, "detail": detail}, remedy)
    detail = f"{outer} is a table: its VACUUM would delete the new table's files as unused."
    evidence = {"location": str(outer), "detail": detail}
    assert outside == GuardResult("outside-other-tables", "fail", evidence, "Choose a folder outside that table.")


def test_a_place_in_a_store_of_objects_has_folders_around_it_up_to_the_bucket() -> None:
    free, outside = place_guards(open_store("memory://guards/one/two%20three/new/"))
    assert free.status == "pass"
    assert outside.evidence["looked at"] == ["memory://guards/one/two three", "memory://guards/one", "memory://guards"]


@pytest.mark.parametrize(
    ("location", "places"),
    [
        ("/a/b%20c/d/", ["/a/b c", "/a"]),
        ("/a", []),
        ("file:///a/b%20c/d", ["/a/b c", "/a"]),
        ("s3://bucket/a/b", ["s3://bucket/a", "s3://bucket"]),
        ("s3://bucket", []),
    ],
)
def test_the_folders_around_a_place_are_told_from_the_inside_out(location: str, places: list[str]) -> None:
    assert list(_outer_places(location)) == places


def test_folders_that_cannot_be_read_leave_the_guard_unknown(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").symlink_to("_delta_log")
    _, outside = place_guards(open_store(tmp_path / "new"))
    assert (outside.name, outside.status, outside.evidence["location"]) == (
        "outside-other-tables", "unknown", str(tmp_path)
    )  # fmt: skip
    assert str(outside.evidence["detail"]).startswith("The folder could not be read: Cannot list ")
    assert outside.remedy == "Make sure that the folder is not a table, and accept this guard by name."
