"""From a request to a commit: who may do what, when it is stale, and that an approval is used once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.activity.reading import check_record, entries
from explorer.approvals.rules import ApprovalRule, Committer, Rules
from explorer.approvals.shelf import Shelf
from explorer.core.errors import ExplorerError, NotAllowed, RequestError, StorageError
from explorer.rights import Right
from explorer.views.act.request_view import request_view
from tests.approvals.conftest import DESCRIBE, TARGET, Office, person
from tests.support.at_least_one import at_least_one


def newest_commit(office: Office) -> dict[str, object]:
    files = sorted((office.table / "_delta_log").glob("*.json"))
    info: dict[str, object] = json.loads(files[-1].read_text().splitlines()[0])["commitInfo"]
    return info


# --- the whole way


def test_a_commit_names_both_people_the_request_and_the_plan(office: Office) -> None:
    asked = office.ask(reason="the steward wants it")
    assert office.approve(asked.number, note="fine").state == "approved"
    result = office.guarded().commit(office.plan(), reason="something else", user="somebody else")
    assert (result.outcome, result.version) == ("committed", 2)
    info = newest_commit(office)
    assert (info["userName"], info["userMetadata"]) == ("ana", "the steward wants it"), "as they were approved"
    assert info["tags"] == {
        "deltaTableExplorer.approvalRequest": "1",
        "deltaTableExplorer.askedBy": "ana",
        "deltaTableExplorer.approvedBy": "ben",
        "deltaTableExplorer.approvedPlan": asked.plan_digest,
    }
    done = office.shelf.get(asked.number)
    assert (done.state, done.version) == ("committed", 2)
    assert [step.what for step in done.steps] == ["asked", "approved", "begun", "committed"]
    told = [entry.event.what for entry in entries(office.record.files)]
    assert told == ["committed", "begun", "approved", "asked"]
    assert not check_record(office.record.files).problems


def test_the_digest_of_a_commit_is_that_of_its_plan_with_and_without_an_approval(office: Office) -> None:
    asked = office.ask()
    office.approve(asked.number)
    result = office.guarded().commit(office.plan())
    assert result.plan.digest == asked.plan_digest


def test_an_approval_is_used_once(office: Office) -> None:
    office.approve(office.ask().number)
    office.guarded().commit(office.plan())
    with pytest.raises(NotAllowed, match="needs approval by a second person"):
        office.guarded().commit(office.plan(DESCRIBE | {"description": "once more"}))
    unset = office.opened().plan({"kind": "set-description", "description": ""}, user="ana")
    with pytest.raises(NotAllowed):
        office.guarded().commit(unset)


def test_maintenance_needs_an_approval_as_commits_do(office: Office) -> None:
    checkpoint = {"kind": "checkpoint"}
    with pytest.raises(NotAllowed, match="second person"):
        office.guarded().commit(office.plan(checkpoint))
    assert list((office.table / "_delta_log").glob("*.parquet")) == []
    office.approve(office.ask(checkpoint).number)
    assert office.guarded().commit(office.plan(checkpoint)).outcome == "committed"
    assert office.shelf.get(1).state == "committed"
    assert len(list((office.table / "_delta_log").glob("*.checkpoint.parquet"))) == 1


def test_a_change_without_a_rule_needs_nobody(office: Office) -> None:
    office.rules = Rules((ApprovalRule(kinds=frozenset({"vacuum"})), ApprovalRule(places=(("", "lake", "other"),))))
    assert office.guarded(None).commit(office.plan(), reason="why", user="cleo").outcome == "committed"
    assert newest_commit(office)["userName"] == "cleo"
    assert "tags" not in newest_commit(office)


# --- who may not


def test_nobody_approves_what_they_asked_for(office: Office) -> None:
    number = office.ask().number
    second_account = person("ana", issuer="password file", subject="ana")
    by_mail = person("a.silva", email="ana@example.org")
    for who in at_least_one([person("ana"), second_account, by_mail]):
        with pytest.raises(NotAllowed, match="asked for this change"):
            office.desk(who).approve(number, "", TARGET.place, office.remake)
        with pytest.raises(NotAllowed, match="asked for this change"):
            office.desk(who).decline(number, "no", TARGET.place)
    office.rules = Rules((ApprovalRule(),), accounts=(("ana", "admin7"),))
    with pytest.raises(NotAllowed, match="counts as the same person"):
        office.approve(number, "admin7")
    assert office.shelf.get(number).state == "asked"


def test_somebody_without_an_identity_neither_asks_nor_approves_nor_commits(office: Office) -> None:
    with pytest.raises(NotAllowed, match="nothing here identifies you"):
        office.desk(None).ask(TARGET, office.plan(), "why")
    number = office.ask().number
    with pytest.raises(NotAllowed, match="nothing here identifies you"):
        office.desk(None).approve(number, "", TARGET.place, office.remake)
    office.approve(number)
    with pytest.raises(NotAllowed, match="nothing here identifies you"):
        office.guarded(None).commit(office.plan())


def test_an_approval_counts_for_the_one_who_asked_and_for_the_change_that_was_asked_for(office: Office) -> None:
    office.approve(office.ask().number)
    with pytest.raises(NotAllowed, match="second person"):
        office.guarded("cleo").commit(office.plan())
    with pytest.raises(NotAllowed, match="second person"):
        office.guarded("ben").commit(office.plan())
    with pytest.raises(NotAllowed, match="second person"):
        office.guarded().commit(office.plan(DESCRIBE | {"description": "another text"}))
    assert office.opened().latest_version() == 1


@pytest.mark.parametrize(("who", "right"), [("ben", Right.APPROVE), ("ana", Right.COMMIT)])
def test_a_right_that_is_gone_at_the_commit_is_gone(office: Office, who: str, right: Right) -> None:
    office.approve(office.ask().number)
    office.lost.add((who, right))
    with pytest.raises(NotAllowed, match=f"^{who} .* anymore"):
        office.guarded().commit(office.plan())
    assert office.opened().latest_version() == 1
    office.lost.clear()
    assert office.guarded().commit(office.plan()).outcome == "committed", "recoverable"


def test_who_may_not_approve_is_told_and_changes_nothing(office: Office) -> None:
    number = office.ask().number
    office.lost.add(("ben", Right.APPROVE))
    with pytest.raises(NotAllowed, match="You may not approve"):
        office.approve(number)
    assert office.shelf.get(number).state == "asked"


# --- when it is stale


def test_a_newer_version_with_the_same_answers_changes_nothing(office: Office) -> None:
    number = office.ask().number
    office.move()
    assert office.approve(number).state == "approved"
    office.move()
    result = office.guarded().commit(office.plan())
    assert (result.outcome, result.version) == ("committed", 4)


DROP = {"kind": "restore", "version": 0}


def test_a_plan_that_answers_otherwise_is_stale_when_it_is_approved(office: Office) -> None:
    number = office.ask(DROP).number
    office.move(rows=5)
    stale = office.approve(number)
    assert stale.state == "stale"
    assert "The evidence of the guard restore changed" in stale.last.note
    assert stale.last.by is None
    with pytest.raises(RequestError, match="is stale"):
        office.approve(number)


def test_a_plan_that_goes_stale_between_the_approval_and_the_commit_is_rejected(office: Office) -> None:
    number = office.ask(DROP).number
    office.approve(number)
    office.move(rows=5)
    result = office.guarded().commit(office.plan(DROP))
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["approval"]
    assert office.shelf.get(number).state == "stale"
    assert office.opened().latest_version() == 2


def test_a_commit_that_comes_first_makes_the_committer_look_again(office: Office) -> None:
    """The plan was made before somebody else's commit, and its answers are others after it."""
    number = office.ask(DROP).number
    office.approve(number)
    plan, table = office.plan(DROP), office.guarded()
    office.move(rows=5)
    result = table.commit(plan)
    assert result.outcome in {"rejected", "conflicted"}
    assert office.shelf.get(number).state == "stale"
    assert office.opened().latest_version() == 2


def test_a_request_ends_after_its_days(office: Office) -> None:
    number = office.ask().number
    office.later(days=7, minutes=1)
    with pytest.raises(RequestError, match="Ask again"):
        office.approve(number)
    office.later(days=-1)
    office.approve(number)
    office.later(days=2)
    with pytest.raises(RequestError, match="Ask again"):
        office.guarded().commit(office.plan())


def test_clocks_that_differ_are_said_and_nothing_is_approved(office: Office) -> None:
    number = office.ask().number
    office.later(hours=-3)
    with pytest.raises(RequestError, match="Correct the clock that is wrong"):
        office.approve(number)
    office.later(hours=3)
    assert office.approve(number).state == "approved"


# --- states


def test_what_is_over_stays_over(office: Office) -> None:
    declined, withdrawn = office.ask().number, office.ask(DROP).number
    with pytest.raises(RequestError, match="Give a reason for declining"):
        office.desk("ben").decline(declined, "  ", TARGET.place)
    assert office.desk("ben").decline(declined, "not now", TARGET.place).last.note == "not now"
    with pytest.raises(NotAllowed, match="Only ana, who asked"):
        office.desk("ben").withdraw(withdrawn)
    office.desk("ana").withdraw(withdrawn)
    for number in at_least_one([declined, withdrawn]):
        with pytest.raises(RequestError, match="no longer"):
            office.approve(number)
    with pytest.raises(NotAllowed):
        office.guarded().commit(office.plan())


def test_what_cannot_be_committed_cannot_be_asked_for(office: Office) -> None:
    with pytest.raises(RequestError, match="Give a reason"):
        office.ask(reason="   ")
    blocked = {"kind": "drop-columns", "columns": ["amount"]}
    with pytest.raises(RequestError, match="column-mapping"):
        office.ask(blocked)
    office.lost.add(("ana", Right.COMMIT))
    with pytest.raises(NotAllowed):
        office.ask()


def test_an_error_before_anything_is_written_gives_the_approval_back(office: Office, tmp_path: Path) -> None:
    office.approve(office.ask().number)
    guarded, log = office.guarded(), office.table / "_delta_log"
    plan = office.plan()
    log.rename(tmp_path / "away")
    with pytest.raises(ExplorerError):
        guarded.commit(plan)
    (tmp_path / "away").rename(log)
    back = office.shelf.get(1)
    assert back.state == "approved"
    assert back.last.note.startswith("Nothing was written")
    assert office.guarded().commit(office.plan()).outcome == "committed"


@pytest.mark.parametrize(
    ("commits", "before", "after"),
    [
        ("maker", "ana can commit it now.", "ana can commit it now."),
        ("itself", "It commits by itself. If it does not, ana or ben can commit it.", "ana or ben can commit it now."),
    ],
)
def test_an_approved_request_says_who_commits_it(
    office: Office, tmp_path: Path, commits: Committer, before: str, after: str
) -> None:
    office.rules = Rules((ApprovalRule(commits=commits),))
    request = office.approve(office.ask().number)
    assert request_view(request, TARGET.name).text == before
    # Whoever begins: the maker, or the program on behalf of the approver.
    first = "ana" if commits == "maker" else "ben"
    guarded, plan, log = office.guarded(first), office.plan(), office.table / "_delta_log"
    log.rename(tmp_path / "away")
    with pytest.raises(ExplorerError):
        guarded.commit(plan)
    (tmp_path / "away").rename(log)
    text = request_view(office.shelf.get(request.number), TARGET.name).text
    assert text.endswith(after)
    assert ("that commit did not happen" in text) is (commits == "itself")
    assert office.guarded(first).commit(office.plan()).outcome == "committed", "the text is true"


def test_an_interrupted_commit_is_found_in_the_log(office: Office) -> None:
    number = office.approve(office.ask().number).number
    plan = office.plan()
    permit = office.desk("ana").permit(TARGET, plan)
    assert permit is not None
    with pytest.raises(RequestError, match="under way"):
        office.guarded().commit(office.plan())
    office.later(minutes=11)
    assert office.desk("ana").resolve(number, lambda _: None).state == "committing", "it runs, however long it takes"
    permit.claim.close()  # as when its program ends
    with pytest.raises(RequestError, match="outcome is not known"):
        office.guarded().commit(office.plan())
    office.later(minutes=-2)
    assert office.desk("ana").resolve(number, lambda _: 7).state == "committing", "it may be on its way to the log"
    office.later(minutes=2)
    assert office.desk("ana").resolve(number, lambda _: None).state == "approved"
    assert office.guarded().commit(office.plan()).outcome == "committed"


# --- two at once

STEPS = st.lists(st.sampled_from(["approve", "decline", "withdraw"]), min_size=2, max_size=5)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(STEPS)
def test_of_people_who_decide_at_once_exactly_one_is_first(office: Office, steps: list[str]) -> None:
    number = office.ask().number
    plan = office.plan()
    together = threading.Barrier(len(steps))

    def decide(place: int, what: str) -> str:
        # Each has a shelf of its own, as two programs have.
        desk = office.desk("ana" if what == "withdraw" else f"ben{place}")
        desk.shelf = Shelf(office.shelf.folder, office.record.files)
        together.wait()
        try:
            match what:
                case "approve":
                    return desk.approve(number, "", TARGET.place, lambda _: plan).state
                case "decline":
                    return desk.decline(number, "no", TARGET.place).state
                case _:
                    return desk.withdraw(number).state
        except RequestError:
            return ""

    with ThreadPoolExecutor(len(steps)) as threads:
        outcomes = list(threads.map(decide, range(len(steps)), steps))
    request = office.shelf.get(number)
    won = [outcome for outcome in outcomes if outcome]
    # Who asked can take back what was just approved, which is a second step and not a second outcome.
    assert request.state == won[-1] if len(won) == 1 else request.state == "withdrawn"
    assert len(won) == 1 or sorted(won) == ["approved", "withdrawn"]
    assert len(request.steps) == 1 + len(won)


def test_of_two_commits_at_once_under_one_approval_one_is_made(office: Office) -> None:
    office.approve(office.ask().number)
    together = threading.Barrier(4)

    def commit(_: int) -> str:
        table, plan = office.guarded(), office.plan()
        together.wait()
        try:
            return table.commit(plan).outcome
        except RequestError as error:
            return type(error).__name__

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(commit, range(4)))
    assert outcomes.count("committed") == 1, outcomes
    assert office.opened().latest_version() == 2


# --- what something else changed


def test_a_request_that_something_else_changed_counts_for_nothing(office: Office) -> None:
    number = office.ask().number
    path = office.shelf.folder / f"{number:08}.json"
    document = json.loads(path.read_bytes())
    document |= {"state": "approved", "approvedBy": document["askedBy"] | {"name": "ben", "subject": "b"}}
    path.write_bytes(json.dumps(document).encode())
    for use in at_least_one([office.shelf.get, office.approve]):
        with pytest.raises(StorageError, match="something other than this program changed it"):
            use(number)
    with pytest.raises(StorageError, match="something other"):
        office.guarded().commit(office.plan())
    assert office.opened().latest_version() == 1


def test_an_earlier_state_that_is_put_back_counts_for_nothing(office: Office) -> None:
    number = office.approve(office.ask().number).number
    path = office.shelf.folder / f"{number:08}.json"
    approved = path.read_bytes()
    office.guarded().commit(office.plan())
    path.write_bytes(approved)
    with pytest.raises(StorageError, match="something other"):
        office.guarded().commit(office.plan())
    assert office.opened().latest_version() == 2


def test_a_crash_between_the_record_and_the_file_loses_nothing(office: Office) -> None:
    number = office.ask().number
    path = office.shelf.folder / f"{number:08}.json"
    before = path.read_bytes()
    office.approve(number)
    # As if the program had ended before the new content took its place.
    path.rename(path.with_suffix(".json.next"))
    path.write_bytes(before)
    assert office.shelf.get(number).state == "approved"
    assert office.guarded().commit(office.plan()).outcome == "committed"


def test_a_record_that_cannot_be_written_stops_every_step(office: Office) -> None:
    number = office.ask().number

    def refuse(_: object) -> object:
        raise StorageError("The activity record cannot be written.", reason="activity")

    desk = office.desk("ben")
    desk._announce = refuse
    with pytest.raises(StorageError, match="record"):
        desk.approve(number, "", TARGET.place, office.remake)
    assert office.shelf.get(number).state == "asked"


def test_the_files_are_for_their_owner_alone_and_an_open_folder_is_refused(office: Office, tmp_path: Path) -> None:
    office.ask()
    assert office.shelf.folder.stat().st_mode & 0o777 == 0o700
    for path in at_least_one(office.shelf.folder.iterdir()):
        assert path.stat().st_mode & 0o777 == 0o600, path
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(StorageError, match="Every user of this machine"):
        Shelf(folder, office.record.files)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    office.shelf = Shelf(shared, office.record.files)
    office.ask()
    assert (shared / "00000001.json").stat().st_mode & 0o777 == 0o660


def test_a_request_that_does_not_exist_is_said(office: Office) -> None:
    for number in at_least_one([0, 1, 99, 10**14]):
        with pytest.raises(RequestError, match="There is no request"):
            office.shelf.get(number)
    assert office.shelf.all() == []
