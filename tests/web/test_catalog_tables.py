"""A table whose commits a catalog manages: refused alike in the list, on its page, and by the core; never empty, never
newest."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import explorer
from explorer.auditing import Audit
from explorer.core.errors import UnsupportedFeature
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.storage import open_store
from explorer.views import TableFacts
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import METADATA, Line, Protocol, add, commit_info, lines, write
from tests.support.pages.idle_windows import idle_work

FEATURES = ("catalogManaged", "inCommitTimestamp")
MANAGED = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("catalogManaged",), writer_features=FEATURES
)
SAID = "Version 2 is the last one published in the log; newer versions may be in the catalog alone"


def _table(folder: Path, *, staged: bool) -> Path:
    """Versions 0 to 2 are published; a fourth commit waits, if any does."""
    first: list[Line] = [commit_info("CREATE TABLE", in_commit_timestamp=1), MANAGED, METADATA, add("0")]
    store = open_store(folder)
    write(store, {0: first} | {version: [add(str(version))] for version in (1, 2)})
    if staged:
        name = f"{3:020d}.00000001-0000-4000-8000-000000000000.json"
        store.put_if_absent(f"_delta_log/_staged_commits/{name}", lines([add("3")]))
    return folder


@pytest.fixture(params=[True, False], ids=["a commit waits", "all is published"])
def managed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return _table(tmp_path / "shop" / "orders", staged=request.param)


def test_every_question_about_its_state_is_refused_with_the_last_published_version(managed: Path) -> None:
    found = explorer.open_table(managed)
    asks = (
        found.snapshot, lambda: found.snapshot(0), lambda: found.diff(0, 1), found.version_risks,
        lambda: found.retention(NOW), lambda: TableFacts(explorer.open_table(managed)), found.history,
        found.provenance, found.history_record, found.provenance_record, found.settings_history, found.blame,
        found.column_lineage, lambda: found.change_sources(0, 1, inferred=True), lambda: found.horizon(NOW),
        found.contradictions,
    )  # fmt: skip
    for ask in at_least_one(asks):
        with pytest.raises(UnsupportedFeature, match=SAID) as refused:
            ask()
        assert refused.value.version == 2
    assert found.latest_version() == 2


def test_with_what_its_catalog_says_nothing_is_refused(managed: Path) -> None:
    found = explorer.open_table(managed, catalog=CatalogCommits(2))
    assert found.snapshot().num_files == 3
    assert TableFacts(found).last == 2


def test_the_audit_names_the_catalog_and_not_a_version_that_only_waits(managed: Path) -> None:
    found: Audit = explorer.open_table(managed).audit(NOW)
    (finding,) = [finding for finding in found.findings if finding.rule == "unread-table"]
    assert (found.version, finding.title) == (2, "A catalog manages the table; v2 is the last published version")
    assert "newest" not in finding.title + finding.effect + finding.label


def test_list_and_page_say_the_same_in_amber(managed: Path) -> None:
    catalog = Catalog([str(managed.parent)])
    summary = catalog.summary(next(catalog.roots.tables()))
    assert (summary.status, summary.health, summary.version) == ("unread", "warning", None)
    home = home_page(catalog, Address(), [summary]).regions["lead"]
    page = table_page(catalog, Address(table=summary.ref.name), "light", idle_work(catalog)).regions["lead"]
    assert SAID in home
    assert SAID in page
    assert '<i class="mark warning" role="img" aria-label="not supported">▲</i>' in home
    assert '<span class="chip warning" title="UnsupportedFeature">not supported</span>' in home
    assert "not supported 1" in home
    assert 'class="card problem warning"' in page
    assert re.search(r'"(chip|mark|badge|card problem) (danger|ok)', home + page) is None
    assert "newest" not in re.sub(r"no version is shown as the newest", "", page)


def test_a_broken_table_is_worse_than_one_that_is_not_readable_here(tmp_path: Path) -> None:
    _table(tmp_path / "shop" / "managed", staged=True)
    shutil.copytree(tmp_path / "shop" / "managed", tmp_path / "shop" / "a-broken")
    (tmp_path / "shop" / "a-broken" / "_delta_log" / f"{1:020d}.json").write_text('{"add":')
    catalog = Catalog([str(tmp_path / "shop")])
    rows = [catalog.summary(ref) for ref in list(catalog.roots.tables())]
    assert {row.ref.title: row.status for row in rows} == {"a-broken": "broken", "managed": "unread"}
    listed = home_page(catalog, Address(sort="-health"), rows).regions["lead"]
    assert listed.rindex("a-broken") > listed.rindex("managed")
    only = home_page(catalog, Address(status="unread"), rows).regions["lead"]
    assert only.count('<tr id="row-') == 1
