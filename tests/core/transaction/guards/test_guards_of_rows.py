"""Rules that every row must satisfy: what is made of an engine's answer, and of no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import Cancelled, EngineUnavailable, ExpressionRefused, InvalidIntent, StorageError
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.guards.rows import row_guards, row_texts
from explorer.core.transaction.proposal import GuardResult, RowCheck
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from tests.support.logs import small_logs

CHECK = RowCheck("rows:positive", "positive", "id > 0", "Fix them.", unseen="Old rows may break it.")
OTHER = RowCheck("rows:small", "small", "id < 9", "Fix them too.")


REFUSAL: dict[str, Any] = {
    "reason": "function",
    "position": 3,
    "condition": "UNRESOLVED_ROUTINE",
    "found": "idd",
    "expected": "id",
    "nearest": ["id"],
}


class Job:
    """A check that has its answer, or fails."""

    def __init__(self, answer: CheckReport | BaseException, *, cancelled: bool = False) -> None:
        self.answer, self.cancelled, self.ended = answer, cancelled, False

    def result(self) -> CheckReport:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def check_cancelled(self) -> None:
        if self.cancelled:
            raise Cancelled("It was cancelled.")

    def cancel(self) -> None:
        self.ended = True


class Answers:
    """An engine with one answer for each predicate, in order; it refuses a text that holds its word."""

    def __init__(self, *answers: Mapping[str, Any] | BaseException, refused: str = "", cancelled: bool = False) -> None:
        self.answers, self.refused, self.cancelled = answers, refused, cancelled
        self.asked: list[dict[str, str]] = []
        self.jobs: list[Job] = []

    def vet(self, schema: StructType, expression: str) -> None:
        assert [field.name for field in schema.fields] == ["id"]
        if self.refused and self.refused in expression:
            raise ExpressionRefused("It is refused.", expression=expression, reason="function")

    def check(self, _log: object, snapshot: explorer.Snapshot, predicates: Mapping[str, str]) -> Job:
        self.asked.append(dict(predicates))
        if isinstance(self.answers[0], EngineUnavailable):
            raise self.answers[0]
        if isinstance(self.answers[0], BaseException):
            self.jobs.append(Job(self.answers[0]))
        else:
            found = tuple(
                result(name, text, **answer)
                for (name, text), answer in zip(predicates.items(), self.answers, strict=True)
                if not isinstance(answer, BaseException)
            )
            self.jobs.append(Job(CheckReport(snapshot.version, found), cancelled=self.cancelled))
        return self.jobs[-1]


def result(
    name: str,
    text: str,
    *,
    rows: int | None = 3,
    broken: tuple[int, ...] = (),
    error: Any = None,
    has_nulls: bool | None = None,
) -> CheckResult:
    """A result with rows that break it, by their value, each in a file of its own."""
    names = [f"f{value}" for value in broken]
    files = pa.table({"path": names, "raw_path": names, "violations": pa.array([1] * len(broken), pa.int64())})
    places = pa.array([7] * len(broken), pa.int64())
    samples = pa.table({"_file": names, "_row_index": places, "id": pa.array(broken, pa.int64())})
    count = None if error is not None else len(broken)
    return CheckResult(name, text, count, None if error is not None else rows, files, samples, error, has_nulls)


def judged(engine: Answers | None, *checks: RowCheck, files: int = 1, **more: Any) -> tuple[GuardResult, ...]:
    adds = [small_logs.add(f"f{number}") for number in range(files)]
    log = small_logs.table({0: (small_logs.PROTOCOL, small_logs.METADATA, *adds)})
    found: Any = engine
    return row_guards(log, log.snapshot(), checks, found, **more)


@pytest.mark.parametrize(
    ("has_nulls", "remedy"), [(True, "Mend them. Let nulls pass."), (False, "Mend them."), (None, "Mend them.")]
)
def test_nulls_are_spoken_of_where_one_breaks_it(has_nulls: bool | None, remedy: str) -> None:
    check = RowCheck("rows:positive", "positive", "id > 0", "Mend them.", null_remedy="Let nulls pass.")
    (guard,) = judged(Answers({"broken": (-1,), "has_nulls": has_nulls}), check)
    assert (guard.status, guard.remedy) == ("fail", remedy)


def test_nothing_to_check_asks_nobody() -> None:
    engine = Answers({})
    assert judged(engine) == ()
    assert engine.asked == []


@pytest.mark.parametrize(
    ("rows", "broken", "status", "detail"),
    [
        (3, (), "pass", "All 3 rows satisfy it."),
        (1, (), "pass", "The one row satisfies it."),
        (1_234, (), "pass", "All 1,234 rows satisfy it."),
        (3, (-1,), "fail", "1 of 3 rows does not satisfy it."),
        (3, (-1, -2), "fail", "2 of 3 rows do not satisfy it."),
        (1, (-1,), "fail", "1 of 1 row does not satisfy it."),
        (0, (), "pass", "There are no rows."),
    ],
)
def test_a_rule_is_judged_by_its_own_answer(rows: int, broken: tuple[int, ...], status: str, detail: str) -> None:
    engine = Answers({"rows": rows, "broken": broken}, {"rows": 5})
    first, second = judged(engine, CHECK, OTHER)
    assert engine.asked == [{"0 positive": "id > 0", "1 small": "id < 9"}]
    assert (first.name, first.status, first.evidence["detail"]) == ("rows:positive", status, detail)
    assert (first.evidence["predicate"], first.evidence["rows"], first.evidence["violations"]) == (
        "id > 0",
        rows,
        len(broken),
    )
    assert (second.name, second.status, second.evidence["detail"]) == ("rows:small", "pass", "All 5 rows satisfy it.")
    if broken:
        assert first.remedy == "Fix them."
        assert first.evidence["numFiles"] == len(broken)
        assert first.evidence["files"] == [{"path": f"f{value}", "violations": 1} for value in broken]
        assert first.evidence["examples"] == [
            {"file": f"f{value}", "rowIndex": 7, "row": {"id": str(value)}} for value in broken
        ]


def test_of_many_files_ten_are_named() -> None:
    (found,) = judged(Answers({"rows": 20, "broken": tuple(range(-12, 0))}), CHECK)
    assert (found.evidence["numFiles"], len(found.evidence["files"])) == (12, 10)  # type: ignore[arg-type]  # a list


def test_long_values_are_cut_and_nulls_stay() -> None:
    rows = pa.table({"a": ["x" * 200, "y" * 201, None]})
    assert row_texts(rows) == [{"a": "x" * 200}, {"a": "y" * 200 + "\u2026"}, {"a": None}]


def test_a_rule_that_fails_on_a_row_is_broken_and_one_that_cannot_be_read_is_no_intent() -> None:
    runtime = ExpressionRefused("It divides by zero.", expression="id > 0", reason="runtime")
    (found,) = judged(Answers({"error": runtime}), CHECK)
    assert (found.name, found.status, found.remedy) == ("rows:positive", "fail", "Fix them.")
    assert "It fails on a row: It divides by zero." in str(found.evidence["detail"])
    with pytest.raises(InvalidIntent, match="It is refused") as caught:
        judged(Answers({"error": ExpressionRefused("It is refused.", expression="id > 0", **REFUSAL)}), CHECK)
    assert (caught.value.field, caught.value.expression) == ("expression", "id > 0")
    assert {name: getattr(caught.value, name) for name in REFUSAL} == REFUSAL


def test_a_table_without_rows_is_vetted_only() -> None:
    engine = Answers({}, refused="9")
    (found,) = judged(engine, CHECK, files=0)
    assert (found.name, found.status, found.evidence["predicate"]) == ("rows:positive", "pass", "id > 0")
    assert (found.evidence["rows"], found.evidence["violations"]) == (0, 0)
    assert found.evidence["detail"] == "The table has no rows."
    assert engine.asked == []
    with pytest.raises(InvalidIntent, match="It is refused"):
        judged(engine, OTHER, files=0)


@pytest.mark.parametrize(
    ("engine", "detail"),
    [
        (None, "The rows were not checked. Old rows may break it."),
        (Answers(EngineUnavailable("Java is missing.")), "The rows could not be checked: Java is missing."),
        (Answers(StorageError("A file is gone.")), "The rows could not all be read: A file is gone."),
    ],
)
def test_without_an_answer_a_rule_is_unknown_and_says_why(engine: Answers | None, detail: str) -> None:
    (found,) = judged(engine, CHECK)
    assert found.status == "unknown"
    assert str(found.evidence["detail"]).startswith(detail)
    assert found.remedy == "Check the data, or accept this guard by name."
    assert found.evidence["predicate"] == "id > 0"


def test_a_text_that_no_engine_may_get_is_refused_without_one_too() -> None:
    with pytest.raises(InvalidIntent):
        judged(None, RowCheck("rows", "odd", "id > ${env:X}", "Fix it."))


def test_a_check_that_is_cancelled_or_interrupted_gives_no_verdict() -> None:
    with pytest.raises(Cancelled):
        judged(Answers({}, cancelled=True), CHECK)
    engine, seen = Answers(KeyboardInterrupt()), list[Any]()
    with pytest.raises(KeyboardInterrupt):
        judged(engine, CHECK, watch=seen.append)
    assert seen == engine.jobs
    assert engine.jobs[0].ended
