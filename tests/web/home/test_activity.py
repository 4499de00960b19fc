"""The record of what was committed with this program: from the logs of all tables, filtered, with its receipts."""

from __future__ import annotations

import csv
import io

import pytest

from explorer.activity.event import Event, RecordEntry
from explorer.page.address import Address
from explorer.system import ENGINE_INFO
from explorer.web.home.activity import activity
from explorer.web.home.tables import home_page
from explorer.web.served_tables import Catalog, TableSummary
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.pages.page_elements import assert_harmless


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("served") / "w"
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]

    def ours(operation: str, time: int, **more: str) -> list[small_logs.Line]:
        info = small_logs.commit_info(operation, engine_info=ENGINE_INFO, timestamp=time, **more)
        return [info]

    others = [small_logs.commit_info("WRITE", engine_info="Apache-Spark/4.0"), small_logs.add("0.parquet")]
    first = ours("SET TBLPROPERTIES", 1, user_name="ana", user_metadata="audit 7")
    small_logs.write_log(root / "a", [created, others, first])
    small_logs.write_log(root / "b", [created, ours("DELETE", 2, user_name=HOSTILE, user_metadata=HOSTILE)])
    small_logs.write_log(root / "broken", [[b"{"]])
    return Catalog([str(root)])


def _known(catalog: Catalog) -> list[TableSummary]:
    return [catalog.summary(ref) for ref in list(catalog.roots.tables())]


def test_only_commits_of_this_program_are_in_it_with_their_reason_and_receipt(catalog: Catalog) -> None:
    record = activity(Address(), _known(catalog))
    assert {(line.table, line.version, line.operation) for line in record.lines} == {
        ("w/a", 2, "SET TBLPROPERTIES"),
        ("w/b", 1, "DELETE"),
    }
    (ana,) = (line for line in record.lines if line.user == "ana")
    assert (ana.reason, record.unread, record.capped) == ("audit 7", 1, False)
    receipt = Address.parse(ana.href)
    assert (receipt.table, receipt.tab, receipt.step, receipt.version) == ("w/a", "act", "receipt", "2")
    rows = list(csv.DictReader(io.StringIO(record.csv)))
    assert {(row["table"], row["reason"]) for row in rows} == {
        ("w/a", "audit 7"),
        ("w/b", HOSTILE.replace("\u202e", "\ufffd")),
    }


@pytest.mark.parametrize(("wanted", "tables"), [("AUDIT", {"w/a"}), ("delete", {"w/b"}), ("w/", {"w/a", "w/b"})])
def test_it_is_filtered_by_table_person_operation_and_reason(catalog: Catalog, wanted: str, tables: set[str]) -> None:
    record = activity(Address(find=wanted), _known(catalog))
    assert ({line.table for line in record.lines}, record.total) == (tables, 2)


def test_the_page_shows_text_of_tables_as_text_and_says_what_no_log_records(catalog: Catalog) -> None:
    page = home_page(catalog, Address.parse("?show=activity"), _known(catalog))
    assert_harmless(page.regions["lead"])
    assert "create no version" in page.regions["lead"]
    assert "1 table has not been read yet, or cannot be" in page.regions["lead"]
    empty = home_page(catalog, Address.parse("?show=activity"), [])
    assert "No commits made with this program" in empty.regions["lead"]


def test_a_table_of_the_record_that_is_not_served_here_leads_nowhere(catalog: Catalog) -> None:
    """The record of a user has the lines of all servers of that user."""
    lines = [
        RecordEntry(
            number=number, time="2026-11-20T10:00:00.000000+00:00", previous="0" * 64, program="p/1", event=event
        )
        for number, event in enumerate(
            [
                Event(kind="rows", what="data", table="w/a", version=1),
                Event(kind="rows", what="data", table="elsewhere/t", version=2),
            ]
        )
    ]
    record = activity(Address(), _known(catalog), lines)
    assert {line.table for line in record.lines} == {"w/a", "w/b", "elsewhere/t"}
    assert record.served == {"w/a", "w/b", "w/broken"}
