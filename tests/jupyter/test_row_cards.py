"""Cards of what Spark found in rows, beside the commands that wrote the reference tables, and their Parquet files."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from IPython.core.formatters import DisplayFormatter

import explorer
from explorer.jupyter.announced import announce
from explorer.jupyter.displays import card_html, register
from explorer.views.card import Card
from explorer.views.cards import CARDED_BY_NAME, card_of
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.page_elements import Elements, assert_harmless
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.fixture(scope="module")
def fed() -> explorer.Table:
    return explorer.open_table(reference_root() / "tables" / "change-feed")


def _cells(card: Card) -> tuple[tuple[str, ...], ...]:
    assert card.rows is not None
    return card.rows.cells


def test_the_history_of_a_key_follows_the_commands_that_wrote_it(fed: explorer.Table) -> None:
    # INSERT in v1, UPDATE in v4, INSERT OVERWRITE in v14, DELETE of all in v17, RESTORE to v3 in v18.
    history = fed.row_history({"id": 1})
    card = card_of(history)
    assert card.title == "id = 1, v0 to v18: 4 spans of versions"
    assert _cells(card) == (
        ("v1 to v3", "1", "v1", "1"),
        ("v4 to v13", "1", "u", "1"),
        ("v14 to v16", "1", "over", "1"),
        ("v18", "1", "v1", "1"),
    )
    assert dict(card.facts)["without a row"] == "v0, v17"
    assert dict(card.facts)["left out"].startswith("w: ")
    assert repr(history) == "RowHistory(key=['id'], versions 0 to 18, 4 spans)"
    # DELETE in v5, again by MERGE in v7, deleted in v10, overwritten in v14.
    assert dict(card_of(fed.row_history({"id": 2})).facts)["without a row"] == "v0, v5 to v6, v10 to v13, v17"
    nobody = card_of(fed.row_history({"id": 999}, 3, 9))
    assert (nobody.title, nobody.rows) == ("id = 999, v3 to v9: 0 spans of versions", None)
    assert dict(nobody.facts)["without a row"] == "v3 to v9"


def test_a_row_difference_says_what_reading_it_costs_and_runs_nothing(fed: explorer.Table) -> None:
    diff = fed.row_diff(0, 3, ["id"])
    jobs = diff.frame.sparkSession.sparkContext.statusTracker()
    before = jobs.getJobIdsForGroup(None)
    card = card_of(diff)
    assert jobs.getJobIdsForGroup(None) == before
    assert card.title == "Rows that differ from v0 to v3, not read yet"
    facts = dict(card.facts)
    files = fed.snapshot(3).files(["path"]).column("path").to_pylist()  # v0 has none
    size = sum((reference_root() / "tables" / "change-feed" / path).stat().st_size for path in files)
    assert (facts["matched by"], facts["columns compared"]) == ("id", "3")
    assert facts["reads"] == f"{len(files)} files, {size / 1000:.1f} kB"
    assert repr(diff) == "RowDiff(versions 0 to 3, keys=['id'])"
    assert diff.counts().inserted == 12  # 8 rows by the INSERT of v1, 4 by that of v3
    assert jobs.getJobIdsForGroup(None) != before


def test_a_check_counts_the_rows_that_break_each_rule(fed: explorer.Table) -> None:
    report = fed.check({"kept": "id >= 0", "broken": "id > 3", "no rule": "id >"})  # v18 is v3: the ids 0 to 11
    card = card_of(report)
    assert (card.title, card.tone) == ("v18: rows violate 1 of 3 rules, 1 could not be checked", "danger")
    assert [(row[0], row[2].split(":")[0]) for row in _cells(card)] == [
        ("broken", "4 of 12"),
        ("no rule", "not checked"),
        ("kept", "0 of 12"),
    ]
    assert repr(report) == "CheckReport(version=18, 1 of 3 predicates passed)"
    sound = card_of(fed.check({"kept": "id >= 0"}))
    assert (sound.title, sound.tone) == ("v18: every row satisfies 1 rule", "ok")


def test_a_profile_has_the_bounds_that_the_shipped_rows_have() -> None:
    shipped = pq.read_table(golden_root() / "shipped/dat__all_primitive_types/latest/table_content")
    root = golden_root() / "tables/dat__all_primitive_types"
    (log,) = root.glob("**/_delta_log")
    profile = explorer.open_table(log.parent).profile(["int32", "utf8"])
    card = card_of(profile)
    assert card.title == f"v{profile.version}: {shipped.num_rows} rows, 2 columns"
    found = {row[0]: row for row in _cells(card)}
    for name in ("int32", "utf8"):
        bounds = pc.min_max(shipped.column(name)).as_py()
        assert found[name][4:] == (str(bounds["min"]), str(bounds["max"]))
        assert found[name][3] == f"about {pc.count_distinct(shipped.column(name)).as_py()}"
    assert card.tone == "ok"


def test_wrong_statistics_are_named(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3]})
    root = write_table(tmp_path, [column("id", "long")], [DataFile("a.parquet", rows)])
    log = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    next(line["add"] for line in lines if "add" in line)["stats"] = '{"numRecords": 4}'
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    profile = explorer.open_table(root).profile()
    card = card_of(profile)
    assert card.tone == "danger"
    assert dict(card.facts)["for example"] == "a.parquet: numRecords is 4 in the log and 3 in the rows"
    assert repr(profile) == "Profile(version=0, rows=3, 1 columns, 1 findings)"


def test_hostile_rows_names_and_files_are_text(tmp_path: Path) -> None:
    rows = pa.table({HOSTILE: [HOSTILE, HOSTILE + "z"]})
    root = write_table(tmp_path, [column(HOSTILE, "string")], [DataFile("<script>.parquet", rows)])
    table = explorer.open_table(root)
    quoted = f"`{HOSTILE.replace('`', '``')}`"
    found = {
        "profile": table.profile(),
        "check": table.check({HOSTILE: f"{quoted} = '<script>'"}),
        "diff": table.row_diff(0, 0, [HOSTILE]),
        "history": table.row_history({HOSTILE: HOSTILE}),
    }
    for name, value in found.items():
        html = str(card_html(card_of(value)))
        assert_harmless(html)
        assert "<script>" in Elements(html).text, name
        assert "\u202e" not in card_of(value).plain(), name


@pytest.mark.parametrize("teach", [announce, register])
def test_a_notebook_knows_the_objects_of_spark_by_name(teach: object, fed: explorer.Table) -> None:
    assert callable(teach)
    formatter = DisplayFormatter()
    teach(formatter)
    shown, _ = formatter.format(fed.row_diff(0, 3))
    assert 'class="dtc' in shown["text/html"]
    assert "Rows that differ" in shown["text/plain"]


def test_the_names_of_objects_of_spark_are_those_of_classes() -> None:
    kinds = {getattr(import_module(module), name) for module, name in CARDED_BY_NAME}
    assert {kind.__name__ for kind in kinds if isinstance(kind, type)} == {"Profile", "RowDiff", "RowHistory"}
