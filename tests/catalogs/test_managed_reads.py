"""Tables whose commits a catalog manages, read by their names: what is ratified counts, published or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import explorer
from explorer.core.errors import CatalogError, TableNotFound, UnsupportedFeature
from explorer.views import TableFacts
from tests.support.catalogs.managed_tables import stage_rows
from tests.support.catalogs.unity_server import Answer, Request, UnityServer

Make = Callable[..., Any]


@pytest.fixture
def three(make_managed: Make) -> Any:
    """Versions 1 to 3 are ratified and not published, each with a row of its number."""
    return _three(make_managed)


@pytest.fixture
def three_own(make_own: Make) -> Any:
    """The same on the tests' own server."""
    return _three(make_own)


def _three(make: Make) -> Any:
    made = make()
    for version in (1, 2, 3):
        stage_rows(made.client, made.name, [version], version)
    return made


@pytest.mark.conformance("CATALOG-001", "CATALOG-002", "CATALOG-003")
def test_unpublished_versions_are_read_in_every_way(three: Any) -> None:
    table = three.open()
    assert table.latest_version() == 3
    assert sorted(table.head().column("id").to_pylist()) == [1, 2, 3]
    assert table.head(version=1).column("id").to_pylist() == [1]
    assert table.history().column("version").to_pylist() == [3, 2, 1, 0]
    assert table.provenance().column("engine_info").to_pylist()[:3] == ["another writer"] * 3
    assert table.diff(1, 3).totals.files_added == 2
    changed = table.changed_rows(2, 3, inferred=True)
    assert sorted(zip(*(changed.column(name).to_pylist() for name in ("id", "_commit_version")), strict=True)) == [
        (2, 2), (3, 3),
    ]  # fmt: skip
    assert table.snapshot(timestamp=table.snapshot(2).timestamp).version == 2
    assert len(table.commit_actions(3)) == 2
    assert not any(finding.rule == "unread-table" for finding in table.audit(datetime.now(UTC)).findings)


def test_versions_that_others_commit_appear_in_an_open_table(three: Any) -> None:
    table = three.open()
    assert table.latest_version() == 3
    stage_rows(three.client, three.name, [4, 5], 4)
    before = table.snapshot()
    table.refresh()
    assert (before.version, table.snapshot().version, table.snapshot().num_files) == (3, 4, 4)
    assert table.successor().history_record().latest == 4


def test_verification_follows_the_catalog_and_not_what_only_waits(three: Any) -> None:
    (three.folder / "_delta_log" / "_staged_commits" / f"{4:020d}.{'0' * 8}-0000-4000-8000-{'0' * 12}.json").write_text(
        "x"
    )
    report = three.open().verify()
    assert (report.first_version, report.last_version, report.problems) == (0, 3, ())


def test_without_the_catalog_the_published_version_is_named_and_the_way_to_the_newest(three: Any) -> None:
    table = explorer.open_table(three.folder)
    with pytest.raises(UnsupportedFeature, match="Version 0 is the last one published") as refused:
        table.snapshot()
    assert "uc://CATALOG.SCHEMA.TABLE" in refused.value.message
    assert "Upgrade" not in refused.value.message
    assert table.latest_version() == 0


def test_a_dropped_table_is_named_and_one_that_took_its_name_is_not_read_instead(
    make_own: Make, server: UnityServer
) -> None:
    made = make_own()
    table = made.open()
    tables = server.state.catalogs["main"]["shop"]
    gone = tables.pop(made.name)
    with pytest.raises(TableNotFound, match="dropped or renamed"):
        table.refresh()
    other = make_own()
    tables[made.name] = tables.pop(other.name)
    with pytest.raises(TableNotFound, match="another table now"):
        table.refresh()
    tables[made.name] = gone
    table.refresh()
    assert table.snapshot().version == 0


def test_a_ratified_version_whose_commit_is_nowhere_is_a_gap_and_older_ones_stay_readable(
    three_own: Any, server: UnityServer
) -> None:
    server.state.table("main", "shop", three_own.name).commits.clear()
    table = three_own.open()
    with pytest.raises(explorer.TableError, match="The catalog ratified version 3") as gap:
        table.snapshot()
    assert "the catalog's answer" not in gap.value.message
    assert table.snapshot(0).num_files == 0
    assert table.latest_version() == 3


def test_a_page_follows_a_version_from_its_staged_file_to_its_published_one(three: Any) -> None:
    before = TableFacts(three.open())
    table = three.open()
    assert table.commit(table.plan({"kind": "set-transaction", "appId": "a", "version": 1})).outcome == "committed"
    after = TableFacts(three.open())
    assert (before.last, after.last) == (3, 4)
    assert before.newest != after.log.listing.commits[3]
    assert after.follows(before)


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "00000000000000000001.json", "", "x\n", f"{9:020d}.{'0' * 36}.json"]
)
def test_a_name_that_is_none_of_a_staged_commit_is_refused(three_own: Any, server: UnityServer, name: str) -> None:
    def forged(request: Request) -> Answer | None:
        if request.method != "GET" or "/tables/" not in request.path or not request.path.startswith("/delta"):
            return None
        document = server.state.table("main", "shop", three_own.name).document()
        document["commits"][0]["file-name"] = name
        return Answer(200, document)

    server.faults.append(forged)
    with pytest.raises(CatalogError, match="no name of a staged commit"):
        three_own.open()
