"""The state of the answers to a form: what is missing, what is wrong, what a plan says.

The plan itself comes from the desk, which `plans_at_once` says when to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from explorer.core.errors import ExplorerError, ExpressionRefused, InvalidIntent, NotAllowed
from explorer.core.protocol.sql.vetting import check_text
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import Append, Merge, Overwrite, Vacuum
from explorer.views.act.desk.desk import DeskSheet
from explorer.views.act.desk.draft import Draft, Question
from explorer.views.act.guard_views import guard_counts, guard_views
from explorer.views.act.intent_form import IntentForm, hints, intent_of, malformed_answers, missing_answers
from explorer.views.act.intents.fields import age_reading
from explorer.views.problems import Problem, problem_of
from explorer.views.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class Check:
    """The state of the answers.

    Attributes:
        hints: Help with a question, by its name.
        missing: Labels of the questions that have no answer yet.
        errors: What is wrong with an answer, by the question's name.
        problem: What is wrong with all of them together.
        counts: How many guards have each status, in words.
        blocked: A guard fails.
        costly: They are planned only on request; what that reads.
    """

    hints: Mapping[str, str]
    missing: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    counts: str = ""
    blocked: bool = False
    costly: str = ""


def plans_at_once(form: IntentForm, answers: Mapping[str, str]) -> bool:
    """Return whether incomplete answers can already be planned, and cheaply."""
    if form.why_not or form.costly:
        return False
    return not missing_answers(form, answers) and not malformed_answers(form, answers)


def check_answers(
    facts: TableFacts, question: Question, sheet: DeskSheet, form: IntentForm, *, requested: bool
) -> Check:
    """Return the state of the answers of a question, with what the desk knows about them.

    Args:
        facts: The table.
        question: The answers, with the kind of the form.
        sheet: What the desk knows.
        form: The form.
        requested: Their plan was asked for, whatever it costs.
    """
    answers = dict(question.answers)
    check = Check(hints(question.kind, answers, facts, facts.snapshot(facts.last)))
    if form.why_not:
        return check
    if missing := missing_answers(form, answers):
        return replace(check, missing=missing)
    if wrong := malformed_answers(form, answers):
        return replace(check, errors=wrong)
    if form.costly and not requested:
        error = _unreadable(facts, question, sheet, form)
        return replace(check, costly=form.costly) if error is None else _blame(check, error, form, answers)
    match sheet.draft_of(question):
        case None:
            return check
        case Draft() as draft:
            guards = guard_views(draft.plan)
            blocked = any(guard.status == "fail" for guard in guards)
            return replace(check, counts=guard_counts(guards), blocked=blocked)
        case error:
            return _blame(check, error, form, answers)


def _unreadable(facts: TableFacts, question: Question, sheet: DeskSheet, form: IntentForm) -> ExplorerError | None:
    """Return the problem of unplanned answers; None if they are valid as far as known without Spark."""
    answers = dict(question.answers)
    try:
        intent = parse_intent(intent_of(question.kind, answers))
        if isinstance(intent, Append | Overwrite | Merge):
            sheet.check_source(question.table, intent.source)
        for field in form.fields:
            if field.kind == "code" and (text := answers.get(field.name, "").strip()):
                _vet(text, field.name)
        if isinstance(intent, Vacuum) and intent.older_than is not None:
            age_reading(intent.older_than, facts)
    except ExplorerError as error:
        return error
    return None


def _vet(text: str, field: str) -> None:
    """Refuse an expression that no engine may get, at its field."""
    try:
        check_text(text)
    except ExpressionRefused as error:
        raise error.with_facts(field=field) from error


def _blame(check: Check, error: ExplorerError, form: IntentForm, answers: Mapping[str, str]) -> Check:
    """Return the check with the error at its field, or below the form."""
    placed = isinstance(error, InvalidIntent | NotAllowed | ExpressionRefused)
    place = _blamed(error, form, answers) if placed else ""
    return replace(check, errors={place: str(error)}) if place else replace(check, problem=problem_of(error))


def _blamed(error: ExplorerError, form: IntentForm, answers: Mapping[str, str]) -> str:
    blamed = str(getattr(error, "field", None) or "")
    names = [field.name for field in form.fields if field.kind not in {"pairs", "checks"}]
    if blamed in names:
        return blamed
    keys = [name for name, value in answers.items() if name.startswith("key.") and value == blamed]
    return keys[0] if keys else names[0] if len(names) == 1 and isinstance(error, InvalidIntent) else ""
