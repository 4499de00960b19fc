"""A plan, its guards and its receipt as text of the widget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup

from explorer import formatting as fmt
from explorer.jupyter.markup import joined, lines, tag
from explorer.views.act.client_losses import ClientLoss, LossGroup
from explorer.views.act.desk.draft import Draft, RowLook
from explorer.views.act.guard_views import EvidenceTable, GuardView
from explorer.views.act.intents.entry import Headline
from explorer.views.act.plan_view import ActionView, PlanView
from explorer.views.act.receipt import Receipt

__all__ = ["guards_panel", "headline_of", "look_line", "plan_panel", "receipt_panel", "refusal_panel"]

_ACTIONS: Final = 10
_STATUS: Final = {"pass": "passes", "warn": "warns", "fail": "fails", "unknown": "unknown"}
_TONES: Final = {"pass": "dte-ok", "warn": "dte-warn", "fail": "dte-wrong", "unknown": "dte-warn"}
_SIGNS: Final = {"+": "dte-added", "\u2212": "dte-removed", "\u25c7": "dte-form"}


def plan_panel(plan: PlanView) -> Markup:
    """Return all that a person reads before approving a plan; what blocks it comes before what it would do."""
    named = "Consequence: " if plan.committable else "Consequence, if it were done: "
    consequence = tag("p", tag("b", named), plan.worst, class_=_tone(plan.worst_tone)) if plan.worst else None
    verdict = tag("p", tag("b", plan.verdict), class_=_tone(plan.tone))
    first, last = (consequence, verdict) if plan.committable else (verdict, consequence)
    return joined(
        (
            headline_of(plan.headline),
            first,
            tag("p", tag("b", "Guards"), " ", tag("span", plan.counts, class_="dte-muted")),
            guards_panel(plan.guards),
            last,
            tag("div", _written(plan), _consequences(plan), class_="dte-cards"),
            _losses(plan),
            _files(plan),
            _actions(plan),
        )
    )


def guards_panel(guards: Sequence[GuardView]) -> Markup:
    """Return guards with their evidence, and what to do about those that do not pass."""
    return tag("ul", *map(_guard, guards), class_="dte-guards")


def headline_of(headline: Headline) -> Markup:
    """Return what a change asks for."""
    subject = tag("span", f" {headline.subject}", class_="dte-mono") if headline.subject else None
    code = tag("pre", lines(headline.code)) if headline.code else None
    return joined((tag("h4", headline.verb, subject), code))


def receipt_panel(receipt: Receipt, headline: Headline, guards: Sequence[GuardView]) -> Markup:
    """Return how a change ended."""
    what = receipt.title
    if receipt.outcome == "committed" and receipt.version is not None:
        what = f"{what} v{receipt.version}"
    elif receipt.winner is not None:
        what = f"{what}: v{receipt.winner}"
    again = (
        "Others committed meanwhile and did not conflict, so the plan was made again on their version and its guards "
        f"were checked again; it was based on v{receipt.rebased_from} before."
    )
    facts = joined(joined((tag("dt", name), tag("dd", text, class_="dte-mono"))) for name, text in receipt.facts)
    return joined(
        (
            tag("div", tag("h4", f"{what}."), tag("p", receipt.text), class_=f"dte-problem dte-{receipt.tone}",
                role="status"),
            headline_of(headline),
            tag("p", again, class_="dte-muted") if receipt.rebased_from is not None else None,
            *(tag("p", note, class_="dte-warn") for note in receipt.notes),
            tag("dl", facts, class_="dte-facts"),
            guards_panel(guards) if receipt.outcome == "rejected" else None,
        )
    )  # fmt: skip


def refusal_panel(draft: Draft) -> Markup | str:
    """Return why a commit could not be tried, or broke off; nothing if it was not tried."""
    problem = draft.refusal
    if problem is None:
        return ""
    if draft.may_be_written:
        then = (
            "Committing again is safe: the commit has its own identifier, so it is found if it exists and written once "
            "if not."
        )
    else:
        then = "" if problem.kind == "Cancelled" else problem.next_step
    said = f"{draft.broke_off} {then}".rstrip()
    return tag("div", tag("h4", said), tag("p", problem.message), class_=f"dte-problem dte-{problem.severity}",
               role="alert")  # fmt: skip


def look_line(look: RowLook | None, doing: str) -> Markup:
    """Return how far Spark is."""
    found = look or RowLook("running")
    of = {"value": found.done, "max": found.total} if found.total else {}
    tasks = f" \u00b7 {fmt.count(found.done)} / {fmt.count(found.total)} tasks" if found.total else ""
    words = f"{doing}: {found.phase or 'starting'}{tasks} \u00b7 {found.elapsed:.0f} s"
    return tag("div", tag("progress", **of), " ", tag("span", words), class_="dte-progress", role="status")


def _guard(guard: GuardView) -> Markup:
    sign = tag("span", guard.sign, class_=_TONES[guard.status], title=_STATUS[guard.status])
    facts = " \u00b7 ".join(f"{name} {text}" for name, text in guard.facts)
    accepted = "Accepted by name: it may stay unknown." if guard.accepted else None
    return tag(
        "li",
        sign, " ", guard.sentence, " ", tag("code", guard.name),
        tag("p", facts, class_="dte-caption") if facts else None,
        *map(_evidence, guard.tables),
        tag("p", guard.remedy) if guard.remedy and guard.status != "pass" else None,
        tag("p", accepted, class_="dte-caption") if accepted else None,
    )  # fmt: skip


def _evidence(table: EvidenceTable) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in table.columns))
    body = joined(tag("tr", *(tag("td", fmt.shorten(t, 40), title=t) for t in row)) for row in table.rows)
    more = f"{table.name}: {fmt.count(len(table.rows) + table.more)}"
    shown = tag("table", tag("thead", head), tag("tbody", body), aria_label=table.name)
    return tag("details", tag("summary", more), tag("div", shown, class_="dte-list"))


def _written(plan: PlanView) -> Markup:
    title = "What would happen" if plan.commit_version is None else f"What v{plan.commit_version} would write"
    told = (
        tag("p", tag("span", line.sign, class_=_SIGNS.get(line.sign)), " ", tag("b", line.subject), " ", line.detail)
        for line in plan.written
    )
    return tag("div", tag("h4", title), *told, class_="dte-card")


def _consequences(plan: PlanView) -> Markup:
    pairs = (("who can read", plan.who_reads), ("who can write", plan.who_writes), *plan.consequences)
    told = (tag("p", tag("b", name), " ", text) for name, text in pairs)
    basis = tag("p", f"based on v{plan.read_version}, digest {plan.digest[:16]}", class_="dte-caption")
    return tag("div", tag("h4", "Consequences"), *told, basis, class_="dte-card")


def _losses(plan: PlanView) -> Markup | None:
    if not plan.losses:
        return None
    amount = fmt.plural(plan.lost_clients, "client")
    return _folded(f"Who loses access or gets wrong answers: {amount}", joined(map(_loss_group, plan.loss_groups)))


def _loss_group(group: LossGroup) -> Markup:
    older = fmt.plural(len(group.older), "older release range")
    return joined(
        (
            tag("h4", group.title),
            _loss_table(group.first) if group.first else tag("p", "Only older releases.", class_="dte-caption"),
            _folded(older, _loss_table(group.older)) if group.older else None,
        )
    )


def _loss_table(losses: Sequence[ClientLoss]) -> Markup:
    names = ("client", "release", "what", "now", "afterwards", "because of", "stated")
    rows = (
        (loss.client, loss.releases, loss.operation, loss.before, loss.after, loss.because,
         f"{loss.source}, {loss.as_of}")
        for loss in losses
    )  # fmt: skip
    return _table(names, rows, "clients")


def _files(plan: PlanView) -> Markup | None:
    if not plan.files:
        return None
    rows = ((file.sign, file.path, file.size, file.reason) for file in plan.files)
    amount = fmt.plural(len(plan.files) + plan.more_files, "file")
    return _folded(f"The files: {amount}", _table(("", "file", "size", "why"), rows, "files"))


def _actions(plan: PlanView) -> Markup | None:
    if not plan.actions:
        return None
    more = len(plan.actions) - _ACTIONS + plan.more_actions
    rest = tag("p", f"and {fmt.plural(more, 'more line')}", class_="dte-caption") if more > 0 else None
    amount = fmt.plural(len(plan.actions) + plan.more_actions, "line")
    return _folded(f"The exact actions: {amount}", joined((*map(_action, plan.actions[:_ACTIONS]), rest)))


def _action(action: ActionView) -> Markup:
    return _folded(action.name, tag("pre", lines(action.pretty)))


def _folded(title: str, content: Markup) -> Markup:
    return tag("details", tag("summary", title), content)


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = joined(tag("tr", *(tag("td", fmt.shorten(t, 60), title=t) for t in row)) for row in rows)
    return tag("div", tag("table", tag("thead", head), tag("tbody", body), aria_label=label), class_="dte-list")


def _tone(tone: str) -> str | None:
    return {"ok": "dte-ok", "warning": "dte-warn", "danger": "dte-wrong"}.get(tone)
