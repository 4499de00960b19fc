"""What came of a commit is told, whatever was pressed or opened while it ran, and a press commits once."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.spark.engine.session as engine_session
import explorer.spark.engine.watch as engine_watch
from explorer.core.errors import StorageError
from explorer.core.transaction.commit_plan import CommitResult
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.views.act.desk import state as happened
from explorer.views.act.desk.state import Committing, Ended, Idle, Ready, after
from explorer.views.act.receipt import Receipt
from explorer.views.problems import problem_of
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window

pytestmark = pytest.mark.sampled(tests=9)

DESCRIBE = "?t=w/orders&tab=act&act=set-description&f.description=Orders&step=plan"
OTHER = "?t=w/orders&tab=act&act=add-constraint&f.name=positive&f.expression=id+%3E+0&step=plan"
CHOOSE = "?t=w/orders&tab=act"
REAL = explorer.Table.commit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    small_logs.write_log(tmp_path / "w" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    return tmp_path / "w"


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What a slow commit waits for."""
    event = threading.Event()
    yield event
    event.set()


def newest(root: Path) -> int:
    return explorer.open_table(root / "orders").latest_version()


def opened(root: Path, query: str = DESCRIBE) -> Window:
    window = Window(Catalog([str(root)], allow_commits=True), query)
    settle(window)
    return window


def desk_of(window: Window) -> ActDesk:
    return window.session.work.of(ActDesk)


def lead(window: Window) -> str:
    return window.session.shown.regions["lead"]


def settle(window: Window, turns: int = 40) -> None:
    for _ in range(turns):
        window.turn()


def until(window: Window, reached: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if reached():
            settle(window)
            return
        window.turn()
    pytest.fail(f"it was not reached: {desk_of(window).state}")


def send(window: Window, kind: str, **fields: object) -> None:
    window.number += 1
    window.send(kind, number=window.number, **fields)


def press_commit(window: Window) -> None:
    state = desk_of(window).state
    assert isinstance(state, Ready | Committing)
    send(window, "commit", name="orders", reason="because", digest=state.draft.plan.digest)


def commits(monkeypatch: pytest.MonkeyPatch, commit: Callable[..., Any]) -> None:
    monkeypatch.setattr(explorer.Table, "commit", commit)


def breaking(held: threading.Event, error: Exception, *, written: bool = False) -> Callable[..., Any]:
    """A commit that waits, and then breaks off."""

    def commit(self: explorer.Table, *given: Any, **named: Any) -> Any:
        assert held.wait(20)
        if written:
            REAL(self, *given, **named)
        raise error

    return commit


def slow(held: threading.Event) -> Callable[..., Any]:
    def commit(self: explorer.Table, *given: Any, **named: Any) -> Any:
        assert held.wait(20)
        return REAL(self, *given, **named)

    return commit


def test_two_presses_of_try_again_commit_once_and_its_outcome_is_told(
    root: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, calls = opened(root), list[int]()
    desk = desk_of(window)

    def unknown(_table: explorer.Table, plan: Any, **_named: Any) -> CommitResult:
        return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)

    def first_alone(self: explorer.Table, plan: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise StorageError("the store is busy")
        assert held.wait(20)
        return REAL(self, plan, **named)

    commits(monkeypatch, unknown)
    press_commit(window)
    until(window, lambda: isinstance(desk.state, Ended))
    commits(monkeypatch, first_alone)
    send(window, "try-again")
    send(window, "try-again")
    settle(window)
    held.set()
    until(window, lambda: isinstance(desk.state, Ended))
    assert (len(calls), newest(root)) == (1, 2)
    assert "Committed v2." in lead(window)


def test_two_presses_of_commit_commit_once(root: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    window, calls = opened(root), list[int]()

    def counted(self: explorer.Table, *given: Any, **named: Any) -> Any:
        calls.append(1)
        return slow(held)(self, *given, **named)

    commits(monkeypatch, counted)
    press_commit(window)
    press_commit(window)
    settle(window)
    held.set()
    until(window, lambda: isinstance(desk_of(window).state, Ended))
    assert (len(calls), newest(root)) == (1, 2)


def test_an_attempt_is_carried_out_once_however_often_it_is_called_for(root: Path) -> None:
    desk = desk_of(opened(root))
    assert isinstance(desk.state, Ready)
    digest = desk.state.draft.plan.digest
    assert desk.approve("orders", "because", digest)
    assert not desk.approve("orders", "because", digest)
    both = [threading.Thread(target=desk.commit) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(30)
    assert isinstance(desk.state, Ended)
    assert desk.state.receipt.outcome == "committed"
    assert newest(root) == 2


class Engine:
    """Spark as far as a job asks for it."""

    state = "ready"
    detail = ""

    def session(self) -> object:
        return object()


class Follower:
    """Watches nothing."""

    def begin(self) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""

    def cancel(self) -> None:
        """Nothing."""

    def tasks(self) -> tuple[int, int]:
        return 0, 0


@pytest.fixture
def rows_desk(root: Path, monkeypatch: pytest.MonkeyPatch) -> ActDesk:
    """A desk with a plan whose commit goes through a job, as that of a change of rows does; Spark does nothing."""
    from explorer.views.act.desk import desk as module

    monkeypatch.setattr(engine_session, "engine", Engine)
    monkeypatch.setattr(engine_watch, "watch", lambda *_: Follower())
    desk = ActDesk(Catalog([str(root)], allow_commits=True), "ana", signed_in=False, changed=list)
    desk.ask(Address.parse(DESCRIBE), newest=1, show=True)
    monkeypatch.setattr(module, "entry_of", lambda _: type("Rows", (), {"reads_rows": True}))
    return desk


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_fault_after_a_change_of_rows_was_written_leaves_it_in_doubt(
    rows_desk: ActDesk, root: Path, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    def faulty(self: explorer.Table, *given: Any, **named: Any) -> Any:
        REAL(self, *given, **named)
        if cancelled:
            rows_desk.cancel_commit()
        raise ZeroDivisionError("a fault of the program")

    commits(monkeypatch, faulty)
    assert isinstance(rows_desk.state, Ready)
    rows_desk.approve("orders", "because", rows_desk.state.draft.plan.digest)
    rows_desk.commit()
    assert newest(root) == 2
    assert isinstance(rows_desk.state, Ready)
    assert rows_desk.state.draft.in_doubt
    assert rows_desk.state.draft.refusal is not None
    assert rows_desk.state.draft.refusal.kind == "ZeroDivisionError"


@pytest.mark.parametrize(
    ("error", "kind"),
    [("spark", "StorageError"), ("cancel", "Cancelled"), ("store", "StorageError")],
)
def test_what_spark_or_the_store_refuses_before_a_change_of_rows_is_written_is_no_doubt(
    rows_desk: ActDesk, monkeypatch: pytest.MonkeyPatch, error: str, kind: str
) -> None:
    from pyspark.errors import PySparkException

    def faulty(_table: explorer.Table, *_given: Any, **_named: Any) -> Any:
        if error == "store":
            raise StorageError("no space")
        if error == "cancel":
            rows_desk.cancel_commit()
        raise PySparkException("a task failed")

    commits(monkeypatch, faulty)
    assert isinstance(rows_desk.state, Ready)
    rows_desk.approve("orders", "because", rows_desk.state.draft.plan.digest)
    rows_desk.commit()
    assert isinstance(rows_desk.state, Ready)
    assert not rows_desk.state.draft.in_doubt
    assert rows_desk.state.draft.refusal is not None
    assert rows_desk.state.draft.refusal.kind == kind


def test_a_plan_of_another_name_is_not_committed(root: Path) -> None:
    window = opened(root)
    state = desk_of(window).state
    assert isinstance(state, Ready)
    send(window, "person", name="Bea")
    send(window, "commit", name="orders", reason="because", digest=state.draft.plan.digest)
    settle(window)
    notices = [message["regions"].get("notice", "") for message in window.heard if "regions" in message]
    assert any("The name of the committer has changed. Read the plan again." in notice for notice in notices)
    assert newest(root) == 1
    again = desk_of(window).state
    assert isinstance(again, Ready)
    assert again.draft.question.person == "Bea"
    press_commit(window)
    until(window, lambda: isinstance(desk_of(window).state, Ended))
    (written,) = explorer.open_table(root / "orders").history(1).to_pylist()
    assert (written["version"], written["user_name"]) == (2, "Bea")
    assert "Committed v2." in lead(window)


def test_a_name_that_is_saved_beside_an_outcome_makes_no_other_plan(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(root)

    def unknown(_table: explorer.Table, plan: Any, **_named: Any) -> CommitResult:
        return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)

    commits(monkeypatch, unknown)
    press_commit(window)
    until(window, lambda: isinstance(desk_of(window).state, Ended))
    send(window, "person", name="Bea")
    settle(window)
    assert isinstance(desk_of(window).state, Ended)
    assert "Try again" in lead(window)


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("query", [OTHER, CHOOSE, OTHER.replace("&step=plan", "")])
def test_a_doubt_is_told_whatever_is_on_show_when_the_commit_breaks_off(
    root: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    window = opened(root)
    desk = desk_of(window)
    commits(monkeypatch, breaking(held, RuntimeError("boom"), written=True))
    press_commit(window)
    until(window, lambda: isinstance(desk.state, Committing))
    send(window, "go", query=query)
    settle(window)
    held.set()
    until(window, lambda: isinstance(desk.state, Ready))
    for _ in range(3):
        assert "Its outcome is unknown" in lead(window)
        assert "Nothing has been written." not in lead(window)
        send(window, "go", query=query)
        settle(window)
    # Its own page has the plan, which is committed once more and found.
    commits(monkeypatch, REAL)
    window.ask("go", query=DESCRIBE)
    settle(window)
    assert "Its outcome is unknown" in lead(window)
    press_commit(window)
    until(window, lambda: isinstance(desk.state, Ended))
    assert newest(root) == 2
    assert "Committed v2." in lead(window)


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("query", [OTHER, CHOOSE])
def test_a_commit_that_ends_elsewhere_is_told_until_the_person_goes_on(
    root: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    window = opened(root)
    desk = desk_of(window)
    commits(monkeypatch, slow(held))
    press_commit(window)
    until(window, lambda: isinstance(desk.state, Committing))
    send(window, "go", query=query)
    settle(window)
    held.set()
    until(window, lambda: isinstance(desk.state, Ended))
    assert "Committed v2." in lead(window)
    assert "step=receipt" in lead(window)
    send(window, "outcome-read")
    until(window, lambda: "Committed v2." not in lead(window))
    if query == OTHER:
        assert isinstance(desk.state, Ready)
        assert "positive" in lead(window)
    else:
        assert desk.state == Idle()


def test_a_refusal_is_told_on_the_page_of_another_change(
    root: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(root)
    commits(monkeypatch, breaking(held, StorageError("The store refused")))
    press_commit(window)
    until(window, lambda: isinstance(desk_of(window).state, Committing))
    send(window, "go", query=OTHER)
    held.set()
    until(window, lambda: isinstance(desk_of(window).state, Ready))
    assert "nothing was committed" in lead(window)
    assert "The store refused" in lead(window)


def test_an_outcome_that_was_shown_gives_way_to_the_next_change(root: Path) -> None:
    window = opened(root)
    press_commit(window)
    until(window, lambda: isinstance(desk_of(window).state, Ended))
    assert "step=receipt" in window.session.query
    window.ask("go", query=OTHER)
    settle(window)
    assert isinstance(desk_of(window).state, Ready)
    assert "Committed v2." not in lead(window)


def test_planning_that_ends_in_a_fault_can_be_asked_for_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = ActDesk(Catalog([str(root)], allow_commits=True), "ana", signed_in=False, changed=list)
    real = explorer.Table.plan

    def faulty(*_given: object, **_named: object) -> None:
        raise OSError("connection reset")

    monkeypatch.setattr(explorer.Table, "plan", faulty)
    with pytest.raises(OSError, match="connection reset"):
        desk.ask(Address.parse(DESCRIBE), newest=1, show=True)
    assert desk.state == Idle()
    monkeypatch.setattr(explorer.Table, "plan", real)
    assert isinstance(desk.ask(Address.parse(DESCRIBE), newest=1, show=True), Ready)


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("name", ["orders", "order"])
def test_the_form_is_sent_anew_after_each_press_though_the_answer_reads_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    window = opened(root)

    def refuses(*_given: object, **_named: object) -> None:
        raise StorageError("The store refused the write: permission denied")

    commits(monkeypatch, refuses)
    state = desk_of(window).state
    assert isinstance(state, Ready)
    for _ in range(3):
        window.heard.clear()
        send(window, "commit", name=name, reason="because", digest=state.draft.plan.digest)
        settle(window, 60)
        sent = [message["regions"]["lead"] for message in window.heard if "lead" in message.get("regions", {})]
        assert sent
        assert "data-tries=" in sent[-1]


def test_a_name_typed_wrong_leaves_a_doubt_as_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window, held = opened(root), threading.Event()
    held.set()
    commits(monkeypatch, breaking(held, RuntimeError("boom")))
    press_commit(window)
    settle(window, 60)
    state = desk_of(window).state
    assert isinstance(state, Ready)
    send(window, "commit", name="order", reason="because", digest=state.draft.plan.digest)
    settle(window)
    assert "Its outcome is unknown" in lead(window)
    assert "Nothing has been written." not in lead(window)


def test_the_events_of_another_attempt_change_nothing(root: Path) -> None:
    desk = desk_of(opened(root))
    assert isinstance(desk.state, Ready)
    committing = Committing(desk.state.draft, "because", 2, begun=True)
    job: Any = object()
    problem = problem_of(ValueError("x"))
    for event in (
        happened.CommitBegun(1),
        happened.CommitBegun(2),
        happened.CommitMoved(1, job, None),
        happened.CommitEnded(1, desk.state.draft.plan, Receipt("committed", "", "", "ok", 2, None, None, (), ()), {}),
        happened.CommitBrokeOff(1, problem, in_doubt=True),
    ):
        assert after(committing, event) is committing
