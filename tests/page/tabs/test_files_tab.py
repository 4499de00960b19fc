"""The Files tab: the layout, the list that it filters, and the footer of a file, which is read on request."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path
from urllib.parse import parse_qs

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.page.tabs.files import LayoutWork
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs import hostile_tables
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import Elements, assert_harmless


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A table of a file of two columns, and one whose file is no Parquet file."""
    rows = pa.table({"id": list(range(1_000)), "text": [f"word {number}" for number in range(1_000)]})
    fields = [column("id", "long"), column("text", "string")]
    write_table(tmp_path / "w" / "t", fields, [DataFile("a.parquet", rows)])
    broken = write_table(tmp_path / "w" / "broken", fields, [DataFile("a.parquet", rows)])
    (broken / "a.parquet").write_bytes(b"PAR1 this is not a footer PAR1")
    gone = write_table(tmp_path / "w" / "gone", fields, [DataFile("a.parquet", rows)])
    (gone / "a.parquet").unlink()
    return tmp_path / "w"


def _side(root: Path, name: str, wanted: str) -> str:
    window = Window(Catalog([str(root)]), f"?t=w/{name}&tab=files&file=a.parquet")
    answer = window.ask("go", query=f"?t=w/{name}&tab=files&file=a.parquet", asked=True)
    assert "Read footer" in window.session.shown.regions["side"]
    assert answer["number"] == window.number
    window.ask("footer", path="a.parquet")
    found = window.until(lambda message: wanted in message.get("regions", {}).get("side", ""))
    text: str = found["regions"]["side"]
    return text


def test_a_footer_is_read_on_request_and_shows_the_bytes_of_each_column(root: Path) -> None:
    side = Elements(_side(root, "t", "data-result")).text
    footer = pq.read_metadata(root / "t" / "a.parquet")
    sizes = {
        footer.schema.column(place).path: footer.row_group(0).column(place).total_compressed_size for place in range(2)
    }
    assert "1 row group, 1,000 rows" in side
    for name, size in at_least_one(sizes.items()):
        shown = re.search(rf"{name}([\d.]+) kB", side)
        assert shown is not None
        assert float(shown[1]) == pytest.approx(size / 1000, abs=0.05)
    assert str(footer.created_by) in side


@pytest.mark.parametrize(("name", "why"), [("broken", "cannot be read"), ("gone", "the file does not exist")])
def test_a_footer_that_cannot_be_read_is_said_in_its_card_and_the_rest_stays(root: Path, name: str, why: str) -> None:
    side = _side(root, name, "inline-problem")
    assert why in Elements(side).text
    assert "Restore it from a backup" in Elements(side).text
    assert "Bounds" in side
    assert "Life in versions" in side


def test_no_file_but_a_live_one_is_read(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t&tab=files&file=../broken/a.parquet")
    window.ask("footer", path="../broken/a.parquet")
    footers = window.session.work.of(LayoutWork).footers
    view, end = window.session.view, time.monotonic() + 30
    while (problem := footers.state(view, "../broken/a.parquet").problem) is None:
        assert time.monotonic() < end
        window.turn()
    assert "no live file" in problem.message
    assert footers.footer(view, "../broken/a.parquet") is None


def test_an_address_alone_reads_no_footer(root: Path) -> None:
    catalog = Catalog([str(root)])
    page = table_page(catalog, Address(table="w/t", tab="files", file="a.parquet"), "light", idle_work(catalog))
    assert "Read footer" in page.regions["side"]
    assert "data-result" not in page.regions["side"]


def _links(text: str) -> list[dict[str, list[str]]]:
    return [parse_qs(html.unescape(link).lstrip("?")) for link in re.findall(r'href="(\?[^"]*)"', text)]


def test_each_bar_and_each_group_leads_to_its_files(tmp_path: Path) -> None:
    created = [PROTOCOL, metadata({"id": "long", "day": "string"}, ("day",))]
    commits = [
        created,
        [
            commit_info("WRITE", user_name="cleo"),
            *(add(f"c{n}", 1, size=2_000, partition_values={"day": str(n)}) for n in range(3)),
        ],
        [commit_info("MERGE", user_name="ben"), add("b", 1, size=90_000, partition_values={"day": "1"})],
    ]
    write_log(tmp_path / "w" / "t", commits)
    catalog = Catalog([str(tmp_path / "w")])

    def lead(**chosen: str) -> str:
        page = table_page(catalog, Address(table="w/t", tab="files", **chosen), "light", idle_work(catalog))
        return page.regions["lead"]

    links = _links(lead())
    assert {link["part"][0] for link in links if "part" in link} == {"day=0", "day=1", "day=2"}
    assert "3 of the 4 files under 1 MB were written by WRITE of cleo" in re.sub(r"\s+", " ", Elements(lead()).text)
    day = lead(partition="day=1")
    assert "2 of 4 files" in Elements(day).text
    assert any("part" not in link and link.get("tab") == ["files"] for link in _links(day))
    assert "1 of 4 files" in Elements(lead(partition="day=1", group="MERGE\x1fben")).text
    assert "No files match" in lead(partition="day=9")


def test_the_layout_of_a_hostile_table_is_harmless(tmp_path: Path) -> None:
    hostile_tables.hostile_table(tmp_path / "w" / "t")
    catalog = Catalog([str(tmp_path / "w")])
    for by in ("writer", "age", "masked"):
        address = Address(table="w/t", tab="files", files_by=by, group="<img src=x onerror=alert(1)>", partition="\x1f")
        page = table_page(catalog, address, "light", idle_work(catalog))
        for region in at_least_one(page.regions.values()):
            assert_harmless(region)
