"""Two tables side by side for people: a sentence, the numbers of both, what differs as a list, and what would align it.

Of the two, the first is the table of the page, and the other one is compared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import encode_json
from explorer.core.protocol.statistics.column_summary import ColumnSummary
from explorer.core.transaction.alignment import AlignmentStep
from explorer.core.transaction.intents.documents import intent_document, intent_kind, parse_intent
from explorer.core.transaction.intents.records import AddColumns, DropColumns, Intent
from explorer.core.versions.table_comparison import AmountPair, TableComparison
from explorer.views.act.intent_form import answers_of, headline, intent_of, offered_kinds
from explorer.views.act.intents.entry import Headline
from explorer.views.columns.glance import glance_of
from explorer.views.listing import Listing, ListingColumn

_ASPECTS: Final = {
    "column": "column",
    "partitioning": "partitioning",
    "clustering": "clustering",
    "property": "property",
    "constraint": "constraint",
    "protocol": "protocol setting",
    "domain": "metadata domain",
    "table": "table",
}
_PLURALS: Final = {"property": "properties"}
_UNCOUNTED: Final = frozenset({"partitioning", "clustering", "description"})
_SHOWN: Final = 2_000


@dataclass(frozen=True, slots=True)
class AmountRow:
    """A number of both tables as text, and whether they differ."""

    name: str
    first: str
    second: str
    differs: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """What would make the other table more like the first.

    Attributes:
        headline: What it does; None where no change of a table can do it.
        why_not: Then why.
        kind, answers: The form of the change with its answers, to plan it; an empty kind where no form can ask it.
        document: The intent as the command line takes it.
    """

    headline: Headline | None
    why_not: str = ""
    kind: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    document: str = ""


@dataclass(frozen=True, slots=True)
class PairView:
    """Two tables side by side.

    Attributes:
        verdict: One sentence.
        same: Nothing differs, as far as the logs say.
        amounts: The numbers of both.
        differences: What differs: what, name, of it, in the first, in the other.
        bounds: The columns that both have, those that differ first.
        bounds_differ: How many of these differ.
        bounds_left_out: Columns whose bounds are not compared.
        shares_columns: The tables have columns in common, so that rows can be compared.
        steps: What would align the other table with the first.
    """

    verdict: str
    same: bool
    amounts: tuple[AmountRow, ...]
    differences: Listing
    bounds: Listing
    bounds_differ: int
    bounds_left_out: int
    shares_columns: bool
    steps: tuple[StepRow, ...]

    @property
    def intents(self) -> list[object]:
        """The intents of the steps, in order, as JSON objects."""
        return [msgspec.json.decode(step.document) for step in self.steps if step.document]


def pair_view(comparison: TableComparison, steps: Sequence[AlignmentStep]) -> PairView:
    """Describe a comparison.

    Args:
        comparison: What differs.
        steps: What would align the second table with the first.
    """
    same = comparison.same_definition and not comparison.differing_amounts and not comparison.differing_bounds
    return PairView(
        verdict=_verdict(comparison),
        same=same,
        amounts=tuple(_amount(pair) for pair in comparison.amounts),
        differences=_differences(comparison),
        bounds=_bounds(comparison),
        bounds_differ=len(comparison.differing_bounds),
        bounds_left_out=comparison.bounds_left_out,
        shares_columns=comparison.columns_shared > 0,
        steps=tuple(map(_step, steps)),
    )


def _verdict(comparison: TableComparison) -> str:
    differing = {(each.aspect, each.name): None for each in comparison.differences if not each.own}
    counted = Counter(name if aspect == "table" else _ASPECTS[aspect] for aspect, name in differing)
    parts = [
        word if word in _UNCOUNTED else fmt.plural(number, word, _PLURALS.get(word)) for word, number in counted.items()
    ]
    definition = f"The definition differs: {_joined(parts)}." if parts else "Both tables have the same definition."
    amounts = [_amount(pair).name for pair in comparison.differing_amounts if pair.name != "columns"]
    unknown = [_amount(pair).name for pair in comparison.amounts if pair.differs is None]
    numbers = f" They differ in {_joined(amounts)}." if amounts else " All known counts and sizes are equal."
    doubt = f" Unknown: {_joined(unknown)}." if unknown else ""
    bounds = comparison.differing_bounds
    ranges = f" The values of {fmt.plural(len(bounds), 'column')} have other bounds or null counts." if bounds else ""
    none = "" if comparison.columns_shared else " The tables have no column in common, so rows cannot be compared."
    return f"{definition}{numbers}{doubt}{ranges}{none}"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _amount(pair: AmountPair) -> AmountRow:
    shown = fmt.size if pair.name == "bytes" else fmt.count
    name = "size" if pair.name == "bytes" else pair.name
    return AmountRow(name, shown(pair.first), shown(pair.second), bool(pair.differs))


def _differences(comparison: TableComparison) -> Listing:
    rows = sorted(comparison.differences, key=lambda each: each.own)
    columns = {
        "aspect": [_ASPECTS[each.aspect] + (" (its own)" if each.own else "") for each in rows],
        "name": [each.name for each in rows],
        "what": [each.what for each in rows],
        "first": [each.first for each in rows],
        "second": [each.second for each in rows],
    }
    table = pa.table({key: pa.array(texts, pa.string()) for key, texts in columns.items()})
    titles = {"aspect": "kind", "name": "name", "what": "differs in", "first": "here", "second": "there"}
    shown = tuple(ListingColumn(key, title, unknown="none") for key, title in titles.items())
    return Listing("table-differences", shown, table, ("aspect", "name", "first", "second"))


def _bounds(comparison: TableComparison) -> Listing:
    rows = sorted(comparison.bounds, key=lambda pair: not pair.differs)
    columns = {
        "column": [pair.column for pair in rows],
        "differs": [{True: "differ", False: "equal", None: "unknown"}[pair.differs] for pair in rows],
        "first": [_glance(pair.first) for pair in rows],
        "second": [_glance(pair.second) for pair in rows],
    }
    table = pa.table({key: pa.array(texts, pa.string()) for key, texts in columns.items()})
    titles = {"column": "column", "differs": "bounds", "first": "here", "second": "there"}
    shown = tuple(ListingColumn(key, title) for key, title in titles.items())
    return Listing("compared-bounds", shown, table.slice(0, _SHOWN), ("column",))


def _glance(summary: ColumnSummary | None) -> str | None:
    if summary is None:
        return None
    glance = glance_of(summary)
    return ", ".join(filter(None, [glance.range, glance.nulls, glance.note]))


def _step(step: AlignmentStep) -> StepRow:
    if step.intent is None:
        return StepRow(None, step.why_not)
    document = encode_json(intent_document(step.intent)).decode()
    kind, answers = intent_kind(step.intent), _answers(step.intent)
    if not _is_asked_by(kind, answers, step.intent):
        return StepRow(headline(step.intent), document=document)
    return StepRow(headline(step.intent), kind=kind, answers=tuple(sorted(answers.items())), document=document)


def _answers(intent: Intent) -> dict[str, str]:
    match intent:
        case AddColumns(fields=(field,), at=at):
            metadata = field.get("metadata")
            comment = metadata.get("comment", "") if isinstance(metadata, dict) else ""
            answers = {"name": field.get("name"), "type": field.get("type"), "comment": comment, "at": at}
            return {name: str(text) for name, text in answers.items() if text not in {None, ""}}
        case DropColumns(columns=(column,)):
            return {"column": column}
        case _:
            return answers_of(intent)


def _is_asked_by(kind: str, answers: dict[str, str], intent: Intent) -> bool:
    """Return whether the form of a kind, filled in with the answers, asks for exactly this intent."""
    if kind not in offered_kinds():
        return False
    try:
        return parse_intent(intent_of(kind, answers)) == intent
    except InvalidIntent:
        return False
