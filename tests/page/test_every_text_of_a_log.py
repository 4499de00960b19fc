"""Every text that a log can hold, through every tab, the list of tables, the report and the charts: as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer
from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs import TABS
from explorer.report import render
from explorer.views.act.intent_form import offered_kinds
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.marked_texts import IN_TEXTS, PLAIN, mark, marked_table, text_fields
from tests.support.logs.small_logs import write_log
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements, assert_harmless

_EVERY = (text_fields() - PLAIN) | IN_TEXTS
_ON_NO_PAGE = {
    field
    for field in _EVERY
    if ".unknown." in field or field.startswith(("txn.", "cdc.", "domainMetadata.", "schema.metadata."))
} | {
    "add.clusteringProvider",
    "add.deletionVector.pathOrInlineDv",
    "add.tags.key",
    "commitInfo.isolationLevel",
    "commitInfo.operationMetrics.key",
    "commitInfo.operationMetrics.value",
    "commitInfo.userId",
    "metaData.format.options.key",
    "metaData.format.options.value",
    "metaData.name",
    "remove.deletionVector.pathOrInlineDv",
    "remove.tags.key",
    "remove.tags.value",
}
"""Texts of a log that no page of this table shows."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("marked") / "w"
    marked_table(root / "t")
    return root


def _addresses() -> Iterator[Address]:
    for tab in TABS:
        yield from (Address(table="w/t", tab=tab.key, version=version) for version in ("1", "2"))
        yield Address(table="w/t", tab=tab.key, view="table", column=mark("schema.column"), find=mark("q"))
    for kind in ("add", "remove"):
        yield Address(table="w/t", tab="files", version="1", file=f"{mark(f'{kind}.path')}.parquet")
    yield Address(table="w/t", tab="diff", version="2", compared="1")
    for kind in offered_kinds():
        yield Address(table="w/t", tab="act", act=kind)
        yield Address.parse(Address(table="w/t", tab="act", act=kind).receipt_of(2))


@pytest.fixture(scope="module")
def pages(root: Path) -> list[Rendered]:
    catalog = Catalog([str(root)], allow_commits=True)
    return [table_page(catalog, address, "light", idle_work(catalog)) for address in _addresses()]


def _seen(html: str) -> set[str]:
    """The fields whose mark is text of a page, or of an attribute."""
    found = Elements(html)
    texts = [found.text, *(value or "" for _, value in found.attributes)]
    return {field for text in texts for field in re.findall(r"<b onx=1>([\w.]+);", text)}


def test_the_texts_of_a_log_are_text_on_every_page(pages: list[Rendered]) -> None:
    seen: set[str] = set()
    for page in at_least_one(pages):
        assert page.view is not None, page.regions["lead"]
        for html in page.regions.values():
            assert_harmless(html)
            seen |= _seen(html)
    # A text that is new in the log, or on a page, is to be listed.
    assert seen - {"q"} == _EVERY - _ON_NO_PAGE


def test_the_texts_of_a_log_are_escaped_in_what_the_charts_draw(pages: list[Rendered]) -> None:
    seen: set[str] = set()
    for figure in at_least_one([figure for page in pages for figure in (page.timeline, page.chart) if figure]):
        sent = json.dumps(figure.message(None), default=str)
        assert "<b onx" not in sent
        seen |= set(re.findall(r"&lt;b onx=1(?:&gt;|>)([\w.]+);", sent))
    assert seen >= {"commitInfo.operation", "commitInfo.userName"}


def test_the_texts_of_a_log_are_text_in_the_list_of_tables_and_in_the_report(root: Path) -> None:
    catalog = Catalog([str(root)])
    page = home_page(catalog, Address.parse(""), [catalog.summary(ref) for ref in list(catalog.roots.tables())])
    for html in at_least_one(page.regions.values()):
        assert_harmless(html)
    assert "commitInfo.operation" in _seen("".join(page.regions.values()))
    report = render(explorer.open_table(root / "t").report(by=mark("by")))
    shown = re.sub(r'<script type="application/json".*?</script>', "", report, flags=re.DOTALL)
    assert_harmless(shown)
    assert _seen(shown) >= {"by", "commitInfo.operation", "commitInfo.userMetadata", "protocol.writerFeatures"}


_FILE = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
_REFUSED: dict[str, dict[str, object]] = {
    "protocol.readerFeatures": {
        "protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["X"], "writerFeatures": ["X"]}
    },
    "metaData.schemaString": {"metaData": {"id": "1", "schemaString": "X", "partitionColumns": []}},
    "add.size": {"add": {**_FILE, "path": "X", "size": "X"}},
    "add.stats": {"add": {**_FILE, "path": "a%ZZX", "stats": "X"}},
    "action": {"X": {}, "metaData": "X"},
}


@pytest.mark.parametrize("field", _REFUSED)
def test_an_error_that_repeats_a_text_of_the_log_shows_it_as_text(tmp_path: Path, field: str) -> None:
    good = marked_table(tmp_path / "w" / "good")
    created = (good / "_delta_log" / f"{0:020}.json").read_bytes().splitlines()
    marked = json.loads(json.dumps(_REFUSED[field]).replace("X", json.dumps(mark(field))[1:-1]))
    write_log(tmp_path / "w" / "bad", [[*created, marked]])
    catalog = Catalog([str(tmp_path / "w")])
    page = table_page(catalog, Address(table="w/bad"), "light", idle_work(catalog))
    for html in at_least_one(page.regions.values()):
        assert_harmless(html)
    home = home_page(catalog, Address.parse(""), [catalog.summary(ref) for ref in list(catalog.roots.tables())])
    for html in at_least_one(home.regions.values()):
        assert_harmless(html)
