"""The parts of the widget that are text: the chosen version, the comparison, an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from explorer import formatting as fmt
from explorer.core.versions.commits.summary import CommitSummary
from explorer.jupyter.markup import joined, tag
from explorer.views import TableView
from explorer.views.problems import Problem, problem_of
from explorer.views.table.commits import commit_sentence, time_basis
from explorer.views.table.comparison import Comparison, FormChange

__all__ = ["comparison_panel", "figure", "problem_lines", "problem_panel", "signs", "version_line"]

_SHOWN = 20
_COMMITS = 6
_SIGN_CLASSES = {"+": "dte-added", "\u2212": "dte-removed", "~": "dte-remasked", "\u25c7": "dte-form"}


def version_line(view: TableView, now: datetime) -> Markup:
    """Describe the chosen version: number, operation, person, time with its zone and age, what happened."""
    commit = view.commit
    parts: list[Markup] = [tag("span", f"v{view.version}", class_="dte-version")]
    if commit is not None:
        parts.append(tag("b", commit.operation))
        if commit.user_name:
            parts.append(tag("span", f"by {commit.user_name}"))
        when = f"{fmt.moment(commit.timestamp)} \u00b7 {fmt.age(commit.timestamp, now)}"
        basis = time_basis(commit)
        parts.append(tag("span", when, class_="dte-muted", title=basis.detail))
        doubt = f"{basis.word}; written {fmt.day(commit.written)}" if basis.warning else basis.word
        kind = "dte-chip dte-warning" if basis.warning else "dte-chip"
        parts.append(tag("span", doubt, class_=kind, title=basis.warning or basis.detail))
    unread = commit is None and view.facts.problem is not None
    parts.append(tag("span", "the history cannot be read" if unread else commit_sentence(commit)))
    if commit is not None and commit.reason:
        parts.append(tag("span", f"\u201c{fmt.shorten(commit.reason, 200)}\u201d", class_="dte-muted"))
    return tag("div", *parts, class_="dte-head")


def signs(*, many: bool) -> Markup:
    """Explain the marks of the timeline.

    Args:
        many: A bar may stand for several versions.
    """
    entries = (
        ("dte-added", "+ added"),
        ("dte-removed", "\u2212 removed (hatched)"),
        ("dte-remasked", "~ masked (outline)"),
        (None, "\u0394 updated (dotted)"),
        *([(None, "solid the median commit, pale the largest")] if many else ()),
        (None, "\u25c7 schema or properties, \u25c6 protocol"),
        (None, "\u2691 a note, \u2690 a checkpoint"),
        (None, "click chooses, Shift+click compares"),
    )
    return tag("div", *(tag("span", text, class_=kind) for kind, text in entries), class_="dte-signs")


def comparison_panel(view: TableView, comparison: Comparison) -> Markup:
    """Describe what differs between the compared version and the chosen one, without the list of files."""
    a, b = comparison.from_version, comparison.to_version
    title = tag("div", tag("b", f"v{a} \u2192 v{b}"), " ", tag("span", _distance(comparison), class_="dte-muted"))
    if comparison.same:
        return joined([title, tag("p", _sameness(view, comparison), class_="dte-muted")])
    return joined([title, _figures(comparison), _cards(comparison)])


def problem_panel(error: Exception) -> Markup:
    """Show an error: what failed, where, and what to do next."""
    return problem_lines(problem_of(error))


def problem_lines(problem: Problem) -> Markup:
    """Show a problem: what failed, where, and what to do next."""
    facts = joined(joined([tag("dt", name), tag("dd", value, class_="dte-mono")]) for name, value in problem.facts)
    return tag(
        "div",
        tag("h4", problem.title),
        tag("p", problem.message),
        tag("p", problem.next_step),
        tag("dl", tag("dt", "error"), tag("dd", problem.kind, class_="dte-mono"), facts),
        class_=f"dte-problem dte-{problem.severity}",
        role="alert",
    )


def _distance(comparison: Comparison) -> str:
    if comparison.from_version == comparison.to_version:
        return "the same version"
    back = " (back in time)" if comparison.from_version > comparison.to_version else ""
    return fmt.plural(comparison.commits_between, "commit") + back


def _sameness(view: TableView, comparison: Comparison) -> str:
    if comparison.from_version != comparison.to_version:
        return "Nothing differs: the same files, schema, protocol and properties."
    verdict = view.overview().verdict
    if view.compared is None:
        return f"There is no readable version before it to compare with. {verdict}"
    return f"A version is compared with itself, so nothing differs. {verdict}"


def _figures(comparison: Comparison) -> Markup:
    t = comparison.totals
    figures = (
        figure(f"+{fmt.plural(t.files_added, 'file')}", _basis(t.bytes_added, t.rows_added), "dte-added"),
        figure(f"\u2212{fmt.plural(t.files_removed, 'file')}", _basis(t.bytes_removed, t.rows_removed), "dte-removed"),
        figure(f"~{fmt.count(t.files_remasked)} re-masked", fmt.hidden_rows(t.rows_masked), "dte-remasked"),
        figure(fmt.quantity(comparison.net_rows, "row", fmt.signed), "live rows, net", None),
    )
    return tag("div", *figures, class_="dte-figures")


def figure(value: str, basis: str, kind: str | None = None) -> Markup:
    """Return a number with what it counts; a zero is small and grey.

    Args:
        value: The number, with its sign.
        basis: What it counts.
        kind: The class of its colour.
    """
    shown = kind if any(character in "123456789" for character in value) else "dte-zero"
    return tag("div", tag("b", value, class_=shown), tag("span", basis, class_="dte-caption"), class_="dte-figure")


def _basis(size: int | None, rows: int | None) -> str:
    return f"{'size unknown' if size is None else fmt.size(size)} \u00b7 {fmt.quantity(rows, 'row')}"


def _cards(comparison: Comparison) -> Markup:
    between = f"table.diff({comparison.from_version}, {comparison.to_version})"
    cards = (
        _card("Schema", [_form(change) for change in comparison.schema], f"{between}.schema"),
        _card("Protocol", _protocol(comparison.protocol), between),
        _card("Properties", [_form(change) for change in comparison.properties], f"{between}.properties"),
        _card("Commits", _commits(comparison), "table.history()") if comparison.commits_between > 1 else None,
    )
    return tag("div", *cards, class_="dte-cards")


def _card(title: str, lines: Sequence[Markup], rest: str) -> Markup | None:
    if not lines:
        return None
    shown = list(lines[:_SHOWN])
    if len(lines) > _SHOWN:
        shown.append(tag("p", f"and {fmt.count(len(lines) - _SHOWN)} more: ", tag("code", rest), class_="dte-caption"))
    return tag("div", tag("h4", title), *shown, class_="dte-card")


def _form(change: FormChange) -> Markup:
    sign = tag("span", change.sign, class_=_SIGN_CLASSES.get(change.sign))
    return tag("p", sign, "\u00a0", tag("b", change.subject), " ", change.detail)


def _protocol(change: Any) -> list[Markup]:
    if change is None:
        return []
    versions = (
        ("reader", change.before.min_reader_version, change.after.min_reader_version),
        ("writer", change.before.min_writer_version, change.after.min_writer_version),
    )
    lines = [tag("p", f"{name} {old} \u2192 {new}") for name, old, new in versions if old != new]
    lines += _features("+", change.features_added)
    return lines + _features("\u2212", change.features_removed)


def _features(sign: str, names: Iterable[str]) -> list[Markup]:
    return [tag("p", tag("span", sign, class_=_SIGN_CLASSES[sign]), " ", name) for name in names]


def _commits(comparison: Comparison) -> list[Markup]:
    shown = [_commit(commit) for commit in comparison.commits[:_COMMITS]]
    hidden = comparison.commits_between - len(shown)
    return [*shown, tag("p", f"and {fmt.count(hidden)} more", class_="dte-caption")] if hidden > 0 else shown


def _commit(commit: CommitSummary) -> Markup:
    what = f" {commit.operation} \u00b7 {commit_sentence(commit)}"
    return tag("p", tag("b", f"v{commit.version}"), what)
