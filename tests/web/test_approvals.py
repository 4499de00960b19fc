"""Two people on the pages of one server: the whole approval, and every way around it."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.activity.reading import entries
from explorer.core.errors import ExplorerError, NotAllowed, RequestError
from explorer.given_roles import GivenRole
from explorer.page.act.form import ActDesk
from explorer.page.host import Identity, KnownBy
from explorer.rights import ROLES, Right
from explorer.views.act.desk.state import Committing, Ended
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.pages.open_windows import Window
from tests.support.pages.two_people import ROLES as PEOPLE
from tests.support.pages.two_people import TwoPeople, login

TABLE = "lake/eu/orders"
PLAN = f"?t={TABLE}&tab=act&act=set-description&f.description=of+the+shop&step=plan"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("eu/orders", "us/orders"):
        created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
        small_logs.write_log(tmp_path / "lake" / name, [created, [small_logs.add("1.parquet", 3)]])
    return tmp_path / "lake"


@pytest.fixture
def server(root: Path, tmp_path: Path) -> TwoPeople:
    return TwoPeople(root, tmp_path / "state")


def lead(window: Window) -> str:
    return str(window.settle().session.shown.regions["lead"])


def told(window: Window) -> str:
    return json.dumps([window.heard, window.session.shown.regions], default=str)


def digest(window: Window) -> str:
    found = re.search(r'data-plan="(\w+)"', lead(window))
    assert found is not None
    return found[1]


def planned(server: TwoPeople, who: Identity, query: str = PLAN) -> Window:
    """A window in which a person is shown a plan."""
    window = server.window(f"?t={TABLE}&tab=act", who).settle()
    window.ask("go", query=query)
    return window.settle()


def drawn(window: Window) -> Window:
    """Draw the page of a window again, once what was asked of it is done."""
    waited_for(window, lambda: not isinstance(window.session.work.of(ActDesk).state, Committing))
    window.ask("go", query=window.session.query)
    return window.settle()


def waited_for(window: Window, done: Callable[[], bool], seconds: float = 120) -> None:
    ends = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < ends, told(window)
        window.turn()


def asked(server: TwoPeople, who: Identity, reason: str = "as agreed", query: str = PLAN) -> Window:
    window = planned(server, who, query)
    window.ask("request-ask", reason=reason, digest=digest(window))
    return drawn(window)


def decided(server: TwoPeople, who: Identity, what: str, number: int = 1, **fields: str) -> Window:
    window = server.window(f"?t={TABLE}&tab=act&step=request&request={number}", who).settle()
    shown = server.of_all.shelf.get(number).plan_digest
    window.ask(f"request-{what}", **({"request": str(number), "digest": shown, "note": "read it"} | fields))
    return drawn(window)


def versions(root: Path) -> int:
    return len(list((root / "eu" / "orders" / "_delta_log").glob("*.json")))


def commit(window: Window) -> Window:
    """Press Commit, and wait for what comes of it."""
    desk = window.session.work.of(ActDesk)
    window.ask("commit", name="orders", reason="mine", digest=digest(window))
    waited_for(window, lambda: not isinstance(desk.state, Committing))
    if isinstance(desk.state, Ended) and desk.state.receipt.outcome == "committed":
        waited_for(window, lambda: "step=receipt" in window.session.query)
    return drawn(window)


# --- the whole approval


def test_two_people_from_the_plan_to_the_receipt(server: TwoPeople, root: Path) -> None:
    before = planned(server, login("ana"))
    assert 'id="ask"' in lead(before)
    assert 'id="commit"' not in lead(before)
    ana = asked(server, login("ana"), "<i>as agreed</i>")
    assert "step=request&request=1" in ana.session.query
    assert "&lt;i&gt;as agreed&lt;/i&gt;" in lead(ana), "a reason is a text"
    assert 'data-state="asked"' in lead(ana)
    assert "You asked for this change" in lead(ana)
    assert 'id="approve"' not in lead(ana)

    home = server.window("", login("ben")).settle()
    assert "1 request waits for you" in json.dumps(home.session.shown.regions)
    ben = server.window(ana.session.query, login("ben")).settle()
    assert 'id="approve"' in lead(ben)
    assert "as agreed" in lead(ben)
    ben = decided(server, login("ben"), "approve")
    assert 'data-state="approved"' in lead(ben)
    assert versions(root) == 2, "an approval alone writes nothing"

    ana = planned(server, login("ana"))
    assert 'id="approval-granted"' in lead(ana)
    commit(ana)
    assert "step=receipt" in ana.session.query
    assert versions(root) == 3
    for text in at_least_one(["ben", "approved by", "asked by", "digest of the approved plan", "as agreed"]):
        assert text in lead(ana), text
    later = server.window(f"?t={TABLE}&tab=act&v=2&step=receipt", login("vic")).settle()
    assert "approved by" in lead(later), "the log itself names both"
    assert 'data-state="committed"' in lead(server.window(f"?t={TABLE}&tab=act&step=request&request=1", login("ben")))
    told_of = [(entry.event.kind, entry.event.what, entry.event.person) for entry in entries(server.record.files)]
    approvals = [(what, who) for kind, what, who in reversed(told_of) if kind == "approval"]
    assert approvals == [("asked", "ana"), ("approved", "ben"), ("begun", "ana"), ("committed", "ana")]


def test_an_approved_change_commits_by_itself_where_the_rule_says_so(root: Path, tmp_path: Path) -> None:
    server = TwoPeople(root, tmp_path / "state", commits="itself")
    asked(server, login("ana"))
    ben = decided(server, login("ben"), "approve")
    assert 'data-state="committed"' in lead(ben)
    assert versions(root) == 3
    line = json.loads(max((root / "eu/orders/_delta_log").glob("*.json")).read_text().splitlines()[0])
    info = line["commitInfo"]
    assert (info["userName"], info["userMetadata"]) == ("ana", "as agreed"), "the maker and the maker's reason"
    assert info["tags"]["deltaTableExplorer.approvedBy"] == "ben"


def test_a_request_is_declined_with_a_note_and_withdrawn_by_its_maker(server: TwoPeople, root: Path) -> None:
    asked(server, login("ana"))
    assert "Give a reason for declining it" in lead(decided(server, login("ben"), "decline", note=" "))
    declined = decided(server, login("ben"), "decline", note="use the other text")
    assert "Declined by ben" in lead(declined)
    assert "use the other text" in told(declined)
    asked(server, login("ana"))
    assert "who asked for this change, can withdraw it" in told(decided(server, login("cleo"), "withdraw", 2))
    assert 'data-state="withdrawn"' in lead(decided(server, login("ana"), "withdraw", 2))
    assert "is withdrawn" in lead(decided(server, login("ben"), "approve", 2))
    assert versions(root) == 2


def test_a_plan_that_goes_stale_says_what_changed(server: TwoPeople, root: Path) -> None:
    restore = f"?t={TABLE}&tab=act&act=restore&f.version=0&step=plan"
    asked(server, login("ana"), query=restore)
    small_logs.write_log(root / "eu" / "orders", [[small_logs.commit_info("WRITE"), small_logs.add("2.parquet", 5)]], 2)
    ben = decided(server, login("ben"), "approve")
    assert 'data-state="stale"' in lead(ben)
    assert "The evidence of the guard restore changed" in lead(ben)
    assert "Nothing was written." in lead(ben)
    assert versions(root) == 3


# --- every way around it


def test_no_message_of_the_maker_commits_without_an_approval(server: TwoPeople, root: Path) -> None:
    ana = asked(server, login("ana"))
    tries = Counter[str]()
    for session in at_least_one(["one", "another"]):
        # A second session of the same account, and the name that a browser keeps.
        window = planned(server, login("ana", session=session))
        shown = digest(window)
        for kind in at_least_one(["person", "commit", "try-again", "request-approve"]):
            window.ask(kind, name="orders", reason="mine", digest=shown, request="1", note="ben says so")
            drawn(window)
            tries[kind] += 1
            assert versions(root) == 2, kind
    approving = decided(server, login("ana", session="a third one"), "approve")
    assert server.of_all.shelf.get(1).state == "asked"
    assert "may not approve" in told(approving).lower() or "not among your rights" in told(approving).lower()
    assert sum(tries.values()) == 8
    assert 'data-state="asked"' in lead(ana)


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(login("ana", session="other"), id="a second session"),
        pytest.param(login("root-ana", subject="subject of ana"), id="another name of the account"),
        pytest.param(login("ana", issuer="password file", subject="ana"), id="the account of another way to sign in"),
        pytest.param(login("a.silva", email="ana@example.org"), id="an account with the maker's address"),
        pytest.param(login("admin7"), id="an account that the configuration calls the maker's"),
        pytest.param(Identity("s", "", KnownBy.TOKEN), id="the token of a shared address"),
        pytest.param(Identity(), id="nobody"),
        pytest.param(Identity("s", "ben", KnownBy.LOCAL), id="a typed name"),
    ],
)
def test_no_account_of_the_maker_and_nobody_without_an_account_approves(
    root: Path, tmp_path: Path, who: Identity
) -> None:
    # Without roles, everyone may approve, so that the identity alone decides.
    server = TwoPeople(root, tmp_path / "state", roles=None, accounts=(("ana", "admin7"),))
    asked(server, login("ana"))
    approvals = server.approvals(who)
    shown = server.of_all.shelf.get(1).plan_digest
    with pytest.raises(NotAllowed):
        approvals.approve(TABLE, 1, "", shown)
    with pytest.raises(NotAllowed):
        approvals.decline(TABLE, 1, "no")
    window = decided(server, who, "approve")
    assert 'id="approve"' not in lead(window)
    assert server.of_all.shelf.get(1).state == "asked"
    assert server.approvals(login("ben")).approve(TABLE, 1, "", shown).state == "approved"


def test_a_login_without_an_identity_cannot_ask(root: Path, tmp_path: Path) -> None:
    server = TwoPeople(root, tmp_path / "state", roles=None)
    window = planned(server, Identity("s", "", KnownBy.TOKEN))
    assert "nothing here identifies you" in lead(window)
    assert 'id="ask"' not in lead(window)
    window.ask("request-ask", reason="please", digest=digest(window))
    assert "nothing here identifies you" in told(window.settle())
    commit(window)
    assert versions(root) == 2


def test_a_group_that_is_gone_at_the_commit_stops_it(server: TwoPeople, root: Path) -> None:
    asked(server, login("ana"))
    approver = login("dora", groups=("deciders",))
    assert 'data-state="approved"' in lead(decided(server, approver, "approve"))
    server.approvals(login("dora", groups=("others",)))  # seen again, without the group
    ana = commit(planned(server, login("ana")))
    assert "dora approved request 1, and may not approve" in told(ana)
    assert versions(root) == 2
    server.approvals(approver)
    commit(planned(server, login("ana")))
    assert versions(root) == 3, "recoverable: with the group back, the approval counts"


def test_an_account_that_is_gone_from_the_password_file_stops_it(root: Path, tmp_path: Path) -> None:
    names = {"ana", "ben"}
    server = TwoPeople(root, tmp_path / "state", has_account=names.__contains__)
    ana, ben = (login(name, issuer="password file", subject=name) for name in ("ana", "ben"))
    asked(server, ana)
    decided(server, ben, "approve")
    names.remove("ben")
    assert "may not approve" in told(commit(planned(server, ana)))
    assert versions(root) == 2


def test_a_role_that_is_gone_at_the_next_start_stops_it(root: Path, tmp_path: Path) -> None:
    server = TwoPeople(root, tmp_path / "state")
    asked(server, login("ana"))
    decided(server, login("ben"), "approve")
    others = [role for role in PEOPLE if role.role != "approver"]
    again = TwoPeople(root, tmp_path / "state", roles=others)
    assert "ben approved request 1, and may not approve" in told(commit(planned(again, login("ana"))))
    assert versions(root) == 2


def test_another_request_than_the_one_that_was_shown_is_not_decided(server: TwoPeople) -> None:
    asked(server, login("ana"))
    ben = server.window(f"?t={TABLE}&tab=act&step=request&request=1", login("ben")).settle()
    shown = server.of_all.shelf.get(1).plan_digest
    for fields in at_least_one([{"request": "2", "digest": shown}, {"request": "1", "digest": "0" * 64}]):
        ben.ask("request-approve", note="", **fields)
        assert "Another request was shown" in told(ben.settle())
        assert server.of_all.shelf.get(1).state == "asked"


def test_a_request_is_reached_by_its_own_table_alone(server: TwoPeople) -> None:
    asked(server, login("ana"))
    ben = server.approvals(login("ben"))
    with pytest.raises(RequestError, match="has no request 1"):
        ben.request("lake/us/orders", 1)
    with pytest.raises(RequestError, match="has no request 1"):
        ben.approve("lake/us/orders", 1, "", "")
    for number in at_least_one(["0", "-1", "x", "9" * 30, "1e3"]):
        window = server.window(f"?t={TABLE}&tab=act&step=request&request={number}", login("ben")).settle()
        assert "request" in lead(window).lower()
        assert 'id="approve"' not in lead(window)


def test_the_only_way_to_a_table_that_can_be_changed_is_guarded() -> None:
    """Whatever opens a table of a server to change it goes through the tables of a person, or makes them."""
    folder = Path(__file__).parents[2] / "explorer" / "web"
    opening = {
        path.name for path in at_least_one(folder.rglob("*.py")) if re.search(r"catalog\.open\(", path.read_text())
    }
    assert opening == {"personal_tables.py", "personal_approvals.py"}
    own = (folder / "personal_approvals.py").read_text()
    assert re.findall(r"(\w+\(name, )?self\._server\.catalog\.open\(name\)\.commit", own) == []


# --- roles


@pytest.mark.parametrize("role", sorted(ROLES))
def test_requests_are_seen_and_decided_by_those_with_the_right_alone(root: Path, tmp_path: Path, role: str) -> None:
    roles = (*PEOPLE, GivenRole(role, people=("eve",), tables=("lake/eu",)))
    server = TwoPeople(root, tmp_path / "state", roles=roles)
    asked(server, login("ana"), reason="Geheimnis")
    rights, eve = ROLES[role], login("eve")
    window = server.window(f"?t={TABLE}&tab=act&step=request&request=1", eve).settle()
    assert ("Geheimnis" in told(window)) == (Right.REQUESTS in rights)
    assert ('id="approve"' in lead(window)) == (Right.APPROVE in rights)
    home = server.window("", eve).settle()
    assert ("Geheimnis" in told(home)) == (Right.REQUESTS in rights)
    window.ask("request-approve", request="1", digest=server.of_all.shelf.get(1).plan_digest, note="")
    window.settle()
    assert (server.of_all.shelf.get(1).state == "approved") == (Right.APPROVE in rights)
    other = login("olga")
    with pytest.raises(ExplorerError):
        server.approvals(other).approve(TABLE, 1, "", "")


def test_an_approver_without_the_right_to_plan_finds_the_requests_in_the_edit_tab(server: TwoPeople) -> None:
    assert "No requests" in lead(server.window(f"?t={TABLE}&tab=act", login("ben")))
    asked(server, login("ana"))
    shown = lead(server.window(f"?t={TABLE}&tab=act", login("ben")))
    assert "as agreed" in shown
    assert "What do you want to change?" not in shown
    assert "Open requests for approval" in lead(server.window(f"?t={TABLE}&tab=act", login("cleo")))
    refused = lead(server.window(PLAN, login("ben")))
    assert "Not among your rights" in refused


def test_rules_without_anybody_who_approves_stop_the_server(root: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no role approver or admin is given"):
        TwoPeople(root, tmp_path / "state", roles=(GivenRole("committer", people=("ana",)),))


def test_a_shelf_that_cannot_be_read_hides_no_table(server: TwoPeople) -> None:
    asked(server, login("ana"))
    folder = server.of_all.shelf.folder
    folder.rename(folder.with_name("away"))
    home: Any = server.window("", login("ben")).settle()
    assert "cannot be listed" in told(home)
    assert "orders" in told(home)
