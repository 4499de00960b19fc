"""The Change feed and Diff tabs open with the rows of a small range: without Spark, and else they say why rows wait."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from explorer.views.rows.spark_work import engine_state
from explorer.web.served_tables import Catalog
from tests.support.logs.changing_table import Changing, written
from tests.support.logs.spark_tables import column
from tests.support.pages.open_windows import Window


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written(tmp_path / "w" / "t")
    large = Changing(tmp_path / "w" / "large", [column("id", "long")])
    large.commit(large.add("a.parquet", pa.table({"id": list(range(10_001))})))
    large.write()
    return tmp_path / "w"


def shown(window: Window, query: str, wanted: str) -> dict[str, str]:
    """The parts of the page once a text is in its lead."""
    window.ask("go", query=query)
    found = window.until(lambda message: wanted in message.get("regions", {}).get("lead", ""))
    regions: dict[str, str] = found["regions"]
    return regions


def test_the_change_feed_opens_with_the_changes_and_starts_no_spark(root: Path) -> None:
    before = engine_state()["state"]
    window = Window(Catalog([str(root)]), "?t=w/t", early_spark=True)
    regions = shown(window, "?t=w/t&v=3&tab=changes&keys=id", "update, after")
    assert "All 2 changes of version 3. 2 rows were only rewritten" in regions["lead"]
    assert "Read here, without Spark." in regions["lead"]
    assert "THREE" in regions["lead"]
    assert "Read again" in regions["lead"]
    regions = shown(window, "?t=w/t&v=2&tab=changes", "The only change of version 2")
    assert "two" in regions["lead"]
    assert engine_state()["state"] == before


def test_the_diff_tab_opens_with_the_rows_that_differ(root: Path) -> None:
    before = engine_state()["state"]
    window = Window(Catalog([str(root)]), "?t=w/t")
    lead = shown(window, "?t=w/t&v=3&c=1&tab=diff&keys=id", "Compared here, without Spark.")["lead"]
    assert "All 2 rows that differ between version 1 and version 3." in lead
    assert "Spark starts" not in lead
    assert "<s>three</s> → THREE" in lead.replace("&#8594;", "→")
    assert engine_state()["state"] == before


@pytest.mark.parametrize("tab", ["changes", "diff"])
def test_what_only_spark_reads_waits_and_says_why(root: Path, tab: str) -> None:
    window = Window(Catalog([str(root)]), "?t=w/large")
    lead = shown(window, f"?t=w/large&v=1&tab={tab}", "left to Spark")["lead"]
    assert "there are more than 10,000 rows to compare" in lead


def test_a_wrong_key_in_an_address_is_named(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    for tab in ("changes", "diff"):
        lead = shown(window, f"?t=w/t&v=3&tab={tab}&keys=nope", "no column")["lead"]
        assert "nope" in lead


def test_a_missing_file_is_named(root: Path) -> None:
    (root / "t" / "b.parquet").unlink()
    window = Window(Catalog([str(root)]), "?t=w/t")
    assert "b.parquet" in shown(window, "?t=w/t&v=3&tab=diff", "does not exist")["lead"]
