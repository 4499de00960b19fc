"""A change at a window's desk: planned, approved, committed, refused; what came of it is told as it was."""

import os
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.page.tab_spec import export_files
from explorer.page.tabs import export_named
from explorer.views.act.desk.draft import Draft
from explorer.views.act.desk.state import CheckingRows, Committing, Ended, Ready, Unplannable
from explorer.views.act.receipt import Receipt, ReceiptDocument
from explorer.views.problems import Problem
from explorer.web.served_tables import Catalog
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.idle_windows import work_at

DESCRIBE = "&act=set-description&f.description=Orders+of+the+shop"
RULE = "&act=add-constraint&f.name=positive&f.expression=id+%3E+0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    served = tmp_path / "w"
    rows = [small_logs.commit_info("WRITE"), small_logs.add("a.parquet", 3, bounds={"id": (1, 3)})]
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(served / "orders", [created, rows])
    return served


def served(root: Path, *, allow_commits: bool = True) -> Catalog:
    return Catalog([str(root)], allow_commits=allow_commits)


def desk_at(root: Path, *, allow_commits: bool = True, person: str = "ana", signed_in: bool = False) -> ActDesk:
    return ActDesk(served(root, allow_commits=allow_commits), person, signed_in=signed_in, changed=list)


def draft(desk: ActDesk) -> Draft:
    assert isinstance(desk.state, Ready | CheckingRows | Committing | Ended), desk.state
    return desk.state.draft


def outcome(desk: ActDesk) -> Receipt | None:
    return desk.state.receipt if isinstance(desk.state, Ended) else None


def refusal(desk: ActDesk) -> Problem | None:
    return draft(desk).refusal


def address(change: str) -> Address:
    return Address.parse(f"?t=w/orders&tab=act&step=plan{change}")


def planned(desk: ActDesk, change: str = DESCRIBE) -> str:
    """Plan and show a change; the plan's digest."""
    desk.ask(address(change), newest=1, show=True)
    return draft(desk).plan.digest


def version(root: Path) -> int:
    return explorer.open_table(root / "orders").latest_version()


def test_what_was_approved_is_committed_with_its_reason_and_its_person(root: Path) -> None:
    catalog = served(root)
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    desk.approve("orders", " Ask <b>Ana</b>\n", planned(desk))
    desk.commit()
    assert refusal(desk) is None
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, ended.version, ended.rebased_from) == ("committed", 2, None)
    assert dict(ended.facts)["reason"] == "Ask <b>Ana</b>"
    (newest,) = explorer.open_table(root / "orders").history(1).to_pylist()
    assert (newest["user_name"], newest["reason"]) == ("ana", "Ask <b>Ana</b>")
    assert desk.document().outcome == "committed"
    assert catalog.facts("w/orders").last == 2


@pytest.mark.parametrize("ended_here", [True, False])
def test_the_receipt_that_is_saved_is_read_by_its_record_and_written_again(root: Path, *, ended_here: bool) -> None:
    catalog = served(root)
    desk = ActDesk(catalog, "ana", signed_in=False, changed=list)
    desk.approve("orders", "because", planned(desk))
    desk.commit()
    window = work_at(desk if ended_here else ActDesk(catalog, "", signed_in=False, changed=list))
    here = Address.parse(f"?t=w/orders&tab=act&v=2&step=receipt{DESCRIBE if ended_here else ''}")
    view = table_page(catalog, here, "light", window).view
    assert view is not None
    saved = export_named("receipt")(view, here, window)
    text = "".join(part["text"] for part in export_files(saved, "1", "json"))
    read = msgspec.json.decode(text, type=ReceiptDocument)
    assert msgspec.json.format(msgspec.json.encode(read), indent=2).decode() == text
    assert (read.version, read.user_name, read.reason) == (2, "ana", "because")
    assert read.digest == draft(desk).plan.digest
    plan = None if isinstance(read.plan, msgspec.UnsetType) else read.plan
    assert (plan is not None and plan.outcome == "committed") is ended_here


def test_a_read_only_server_is_refused_by_the_table_itself(root: Path) -> None:
    desk = desk_at(root, allow_commits=False)
    desk.approve("orders", "because", planned(desk))
    desk.commit()
    refused = refusal(desk)
    assert refused is not None
    assert refused.kind == "NotAllowed"
    assert (type(desk.state), version(root)) == (Ready, 1)


@pytest.mark.parametrize(
    ("name", "reason", "told"),
    [("order", "why", "is not the table"), ("", "why", "type orders"), ("orders", " ", "Enter a reason")],
)
def test_nothing_is_committed_without_the_name_and_a_reason(root: Path, name: str, reason: str, told: str) -> None:
    desk = desk_at(root)
    desk.approve(name, reason, planned(desk))
    desk.commit()
    assert told in (draft(desk).approval_problem or "")
    assert (outcome(desk), version(root)) == (None, 1)


def test_only_the_plan_that_was_shown_can_be_approved(root: Path) -> None:
    desk = desk_at(root)
    with pytest.raises(RequestError, match="There is no plan yet"):
        desk.approve("orders", "why", "0" * 64)
    before = planned(desk)
    planned(desk, "&act=set-description&f.description=Other")
    with pytest.raises(RequestError, match="has changed since it was shown"):
        desk.approve("orders", "why", before)
    assert not isinstance(desk.state, Committing)


def test_a_commit_in_between_that_stands_against_it_is_named(root: Path) -> None:
    desk = desk_at(root)
    digest = planned(desk)
    other = explorer.open_table(root / "orders")
    other.commit(other.plan({"kind": "set-description", "description": "theirs"}), reason="first")
    desk.approve("orders", "why", digest)
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, ended.winner, version(root)) == ("conflicted", 2, 2)


def test_a_commit_in_between_that_does_not_is_built_upon_and_told(root: Path) -> None:
    desk = desk_at(root)
    digest = planned(desk)
    taken = [small_logs.commit_info("SET TRANSACTION"), {"txn": {"appId": "loader", "version": 7}}]
    small_logs.write_log(root / "orders", [taken], 2)
    desk.approve("orders", "why", digest)
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, ended.version, ended.rebased_from) == ("committed", 3, 1)


def test_a_commit_that_breaks_off_by_a_fault_is_told_to_be_in_doubt_and_can_be_sent_again(root: Path) -> None:
    desk = desk_at(root)
    digest = planned(desk)
    kept = draft(desk)
    sound = kept.table.store

    def breaks(number: int) -> None:
        if "create" in faulty.requests[number]:
            raise ZeroDivisionError("a fault of the program")

    kept.table.store = faulty = FaultyStore(sound, between=breaks)
    desk.approve("orders", "why", digest)
    desk.commit()
    refused = refusal(desk)
    assert refused is not None
    assert (type(desk.state), draft(desk).in_doubt, version(root)) == (Ready, True, 1)
    assert refused.kind == "ZeroDivisionError"
    kept.table.store = sound
    desk.approve("orders", "why", digest)
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, draft(desk).in_doubt, version(root)) == ("committed", False, 2)


def test_a_lost_answer_is_unknown_names_its_version_and_is_found_by_trying_again(root: Path) -> None:
    desk = desk_at(root)
    digest = planned(desk)
    kept = draft(desk)
    sound = kept.table.store

    def loses(number: int) -> None:
        if any("create" in request for request in faulty.requests):
            faulty.faults[number] = "answer lost" if "create" in faulty.requests[number] else "fails"

    kept.table.store = faulty = FaultyStore(sound, between=loses)
    desk.approve("orders", "why", digest)
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, dict(ended.facts)["outcome unknown"]) == ("unknown", "v2")
    kept.table.store = sound
    desk.try_again()
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, ended.version, version(root)) == ("committed", 2, 2)


def test_an_unknown_guard_blocks_until_it_is_accepted_by_its_name(root: Path) -> None:
    desk = desk_at(root)
    planned(desk, RULE)
    for wrong in ("", "everything", "committer"):
        with pytest.raises(RequestError, match="existing-rows"):
            desk.accept(wrong)
    desk.accept(" existing-rows ")
    desk.ask(address(RULE), newest=1)
    assert draft(desk).plan.committable
    desk.ask(address(RULE.replace("0", "1")), newest=1)
    assert not draft(desk).plan.committable


def test_a_plan_that_was_not_shown_yet_is_made_on_the_newest_version(root: Path) -> None:
    desk = desk_at(root)
    desk.ask(address(DESCRIBE), newest=1)
    assert draft(desk).plan.read_version == 1
    other = explorer.open_table(root / "orders")
    other.commit(other.plan({"kind": "set-transaction", "appId": "a", "version": 1}), reason="first")
    desk.ask(address(DESCRIBE), newest=2, show=True)
    assert draft(desk).plan.read_version == 2
    shown = desk.state
    other.commit(other.plan({"kind": "set-transaction", "appId": "a", "version": 2}), reason="second")
    assert desk.ask(address(DESCRIBE), newest=3) is shown
    desk.forget()
    desk.ask(address(DESCRIBE), newest=3)
    assert draft(desk).plan.read_version == 3


def test_a_name_can_be_given_where_nobody_signed_in_and_not_where_someone_did(root: Path) -> None:
    free, known = desk_at(root, person=""), desk_at(root, person="ana", signed_in=True)
    for desk in (free, known):
        desk.name_person(" bob ")
    assert (free.person, known.person) == ("bob", "ana")


def test_what_makes_no_sense_is_kept_as_the_error_it_is(root: Path) -> None:
    found = desk_at(root).ask(address("&act=rename-column&f.column=nothing&f.to=x"), newest=1)
    assert isinstance(found, Unplannable)
    assert type(found.error).__name__ == "InvalidIntent"


def test_a_look_that_was_cancelled_before_it_began_ends_as_cancelled(root: Path) -> None:
    desk = desk_at(root)
    planned(desk, RULE)
    assert desk.start_row_check()
    assert not desk.start_row_check()
    with pytest.raises(RequestError, match="being checked"):
        desk.approve("orders", "why", planned(desk, RULE))
    desk.stop_reading()
    assert draft(desk).progress.outcome == "cancelled"
    desk.run_row_check()
    assert draft(desk).progress.outcome == "cancelled"


VACUUM = "&act=vacuum"


def unused_file(root: Path, name: str = "old.parquet") -> Path:
    """A data file that version 2 and 3 added and removed eleven days ago and more."""
    removed = small_logs.remove(name, deletion_timestamp=small_logs.LONG_AGO)
    commits = [[small_logs.commit_info("WRITE"), action] for action in (small_logs.add(name, 2), removed)]
    small_logs.write_log(root / "orders", commits, 2)
    for file in ("a.parquet", name):
        (root / "orders" / file).write_bytes(b"x" * 700)
        os.utime(root / "orders" / file, (1_772_460_311, 1_772_460_311))
    return root / "orders" / name


def test_a_vacuum_is_recorded_in_the_log_and_its_table_is_opened_anew(root: Path) -> None:
    unused, catalog = unused_file(root), served(root)
    desk, before = ActDesk(catalog, "ana", signed_in=False, changed=list), catalog.facts("w/orders")
    digest = planned(desk, VACUUM)
    desk.approve("order", "storage", digest)
    assert not isinstance(desk.state, Committing)
    desk.approve("orders", "storage", digest)
    desk.commit()
    assert refusal(desk) is None
    ended = outcome(desk)
    assert ended is not None
    assert (ended.outcome, ended.title, ended.version) == ("committed", "1 file deleted", None)
    assert ended.text == "The log records it in v4 and v5; the rows are those of v3."
    assert not unused.exists()
    assert (root / "orders" / "a.parquet").exists()
    assert version(root) == 5
    assert catalog.facts("w/orders") is not before


def test_a_file_that_is_needed_again_stays_and_the_receipt_says_so(root: Path) -> None:
    unused, desk = unused_file(root), desk_at(root)
    digest = planned(desk, VACUUM)
    again = [small_logs.commit_info("RESTORE"), small_logs.add(unused.name, 2)]
    small_logs.write_log(root / "orders", [again], 4)
    desk.approve("orders", "storage", digest)
    desk.commit()
    ended = outcome(desk)
    assert ended is not None
    assert dict(ended.facts)["left"] == "1 file of the plan, which is needed now"
    assert unused.exists()


def test_work_on_files_that_breaks_off_does_not_claim_that_nothing_was_done(root: Path) -> None:
    unused, desk = unused_file(root), desk_at(root)
    digest = planned(desk, VACUUM)
    kept = draft(desk)

    def fails(number: int) -> None:
        if "delete" in faulty.requests[number]:
            faulty.faults[number] = "answer lost"

    kept.table.store = faulty = FaultyStore(kept.table.store, between=fails)
    desk.approve("orders", "storage", digest)
    desk.commit()
    refused = refusal(desk)
    assert refused is not None
    assert (refused.kind, outcome(desk), unused.exists()) == ("StorageError", None, False)
    shown = table_page(served(root), address(VACUUM), "light", work_at(desk)).regions["lead"]
    assert "the work broke off" in shown
    assert "Create a new plan to see what remains." in shown
    assert "nothing was committed" not in shown


def test_a_read_only_server_refuses_to_delete_files(root: Path) -> None:
    unused, desk = unused_file(root), desk_at(root, allow_commits=False)
    desk.approve("orders", "storage", planned(desk, VACUUM))
    desk.commit()
    refused = refusal(desk)
    assert refused is not None
    assert (refused.kind, unused.exists()) == ("NotAllowed", True)
