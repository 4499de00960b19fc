"""The erasure desk: a search of every stored copy of some rows, and what a person sees of its proof.

Invariants: nothing is called erased that the proof does not; a bar ends where the last file of its place can be gone,
and has no end where a file stays; a proof on show names its condition and its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.auditing.erasure import Erasure, Neighbour, Step
from explorer.auditing.erasure.proof import STATES, Place, State
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.intents.documents import intent_kind, parse_intent
from explorer.core.versions.commit_times import moment
from explorer.views.act.intent_form import answers_of
from explorer.views.act.intents.registry import headline, offered_kinds
from explorer.views.listing import Listing, ListingColumn
from explorer.views.rows.spark_work import SparkWork, WorkState

if TYPE_CHECKING:
    from explorer.spark.engine.job import Job
    from explorer.views.table.facts import TableFacts

__all__ = ["ErasureDesk", "ErasureView", "PlaceLine", "StepLine", "erasure_view", "place_listing"]

_WORDS: Final[dict[State, tuple[str, str, str]]] = {
    "live": ("Live rows", "in the newest version: every reader sees them", "a delete hides them; their files stay"),
    "masked": ("Masked rows", "deleted, and still in their files", "a deletion vector hides, it does not erase"),
    "history": ("Old versions", "in files that only time travel reaches", "a vacuum deletes them once they are old"),
    "feed": ("Change feed", "in files of changes", "the delete itself writes the rows once more where the feed is on"),
    "orphan": ("Orphans", "in files that no version names", "a vacuum takes them by the time of the file"),
}
_COLUMNS: Final = (
    ListingColumn("state", "place"),
    ListingColumn("rows", "rows", "rows"),
    ListingColumn("path", "file", "path"),
    ListingColumn("size", "size", "size", "unknown"),
    ListingColumn("versions", "versions"),
    ListingColumn("gone", "gone from", "time", "stays"),
)
_KEPT_BY: Final = ListingColumn("kept_by", "why it stays", unknown="")
_NOTHING: Final = "\u2014"


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """The copies in one state.

    Attributes:
        title, what, why: The state in words.
        rows, files, size: How much there is; the bytes are None where one file's are unknown.
        gone: From when the last of its files can be gone, in words.
        share: How long that is, as a share of the axis; 1 where a file stays.
        stays: Whether a file stays.
    """

    state: State
    title: str
    what: str
    why: str
    rows: int
    files: int
    size: int | None
    gone: str
    share: float
    stays: bool


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step that is left: what it is, why, from when; the change to open with its answers, or a command."""

    title: str
    why: str
    not_before: str
    kind: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class ErasureView:
    """A proof as a page shows it.

    Attributes:
        where, version, searched: What was searched, and when.
        copies, files: Matching rows in all places, and the files that hold them.
        read: What was read, in words.
        places: One a state that has any.
        steps: What is left to do, in order.
        traces: What the log itself says: the file, what it holds, and from when it can be gone.
        not_answered: Files that could not be answered, and why.
        elsewhere: Tables that were not searched and may hold such rows: the name, and why it is named.
        not_read: What else lies outside of the proof.
        obstacles: Why nobody may say that the rows are erased; empty if they may.
        first, last: Dates at the ends of the axis.
        late: How many days after the due date the last copy can be gone; None without a due date or without an end.
    """

    where: str
    version: int
    searched: datetime
    copies: int
    files: int
    read: str
    places: tuple[PlaceLine, ...]
    steps: tuple[StepLine, ...]
    traces: tuple[tuple[str, str, str], ...]
    not_answered: tuple[tuple[str, str], ...]
    elsewhere: tuple[tuple[str, str], ...]
    not_read: tuple[str, ...]
    obstacles: tuple[str, ...]
    first: str
    last: str
    late: int | None


class ErasureDesk:
    """At most one search for one window.

    Args:
        changed: Called, on any thread, when something else is to be shown.
        beside: Returns the tables beside those of the window, and where these are all there are.
    """

    def __init__(
        self, changed: Callable[[], None], beside: Callable[[], tuple[Iterable[Neighbour], tuple[str, ...]]]
    ) -> None:
        self._beside = beside
        self._work: SparkWork[dict[str, Erasure]] = SparkWork(changed)

    def start(self, facts: TableFacts, requests: Sequence[str]) -> None:
        """Begin to search for the rows of some conditions, in one pass over the files; a running search is stopped.

        Raises:
            RequestError: There is no condition.
        """
        if not requests:
            raise RequestError("Say which rows: a condition such as customer_id = 'C-1'.", field="where")
        self._work.begin((facts.location, tuple(requests)), lambda: self._begin(facts, requests))

    def stop_reading(self) -> None:
        """Stop a running search."""
        self._work.cancel()

    @property
    def state(self) -> WorkState:
        """How far it is."""
        return self._work.state

    def _begin(self, facts: TableFacts, requests: Sequence[str]) -> Job[dict[str, Erasure]]:
        from explorer.auditing.erasure.job import erasure_job

        others, looked_in = self._beside()
        predicates = {where: where for where in requests}
        return erasure_job(facts.log, predicates, datetime.now(UTC), others=others, looked_in=looked_in)

    def proofs(self, facts: TableFacts, requests: Sequence[str]) -> Mapping[str, Erasure] | None:
        """Return the proof of each of some conditions on a table, if these are what was searched."""
        return self._work.about((facts.location, tuple(requests)))


def erasure_view(found: Erasure, due: date | None = None) -> ErasureView:
    """Return a proof as a page shows it.

    Args:
        found: The proof.
        due: The date by which the rows must be gone, if there is one.
    """
    now, read = found.basis.now, found.basis.found.read
    dates = [place.gone_from for place in found.places if place.gone_from is not None]
    end = max([*dates, now + 86_400_000])
    gone = found.gone_from
    return ErasureView(
        where=found.where,
        version=found.version,
        searched=moment(now),
        copies=sum(place.rows for place in found.places),
        files=len({place.path for place in found.places}),
        read=f"{fmt.plural(read.num_rows, 'file')}, {fmt.quantity(sum(read.column('rows').to_pylist()), 'row')}",
        places=tuple(line for state in STATES if (line := _line(found, state, end)) is not None),
        steps=tuple(map(_step, found.steps)),
        traces=tuple(
            (trace.path.rpartition("/")[2], _trace_words(trace.what, trace.column, trace.value), _date(trace.gone_from))
            for trace in found.traces
        ),
        not_answered=tuple((each.path, each.reason) for each in found.not_answered),
        elsewhere=tuple((each.name, each.words()) for each in found.elsewhere),
        not_read=found.not_read,
        obstacles=found.obstacles,
        first=_date(now),
        last=_date(end),
        late=None if due is None or gone is None else _days_late(gone, due),
    )


def place_listing(places: Sequence[Place]) -> Listing:
    """Return every file that holds matching rows, with its state; why it stays, if one of them does."""
    table = pa.table(
        {
            "state": strings([_WORDS[place.state][0] for place in places]),
            "rows": pa.array([place.rows for place in places], pa.int64()),
            "path": strings([place.path for place in places]),
            "size": pa.array([place.size for place in places], pa.int64()),
            "versions": strings([_versions(place.from_version, place.to_version) for place in places]),
            "gone": pa.array([place.gone_from for place in places], pa.timestamp("ms", "UTC")),
            "kept_by": strings([place.kept_by or None for place in places]),
        }
    )
    columns = (*_COLUMNS, _KEPT_BY) if any(place.kept_by for place in places) else _COLUMNS
    return Listing("erasure", columns, table, ("path", "state"))


def _line(found: Erasure, state: State, end: int) -> PlaceLine | None:
    places = [place for place in found.places if place.state == state]
    if not places:
        return None
    now = found.basis.now
    stays = any(place.gone_from is None for place in places)
    last = max((place.gone_from or now for place in places), default=now)
    sizes = {place.path: place.size for place in places}
    known = [size for size in sizes.values() if size is not None]
    title, what, why = _WORDS[state]
    return PlaceLine(
        state=state,
        title=title,
        what=what,
        why=next((place.kept_by for place in places if place.gone_from is None), why),
        rows=sum(place.rows for place in places),
        files=len(sizes),
        size=sum(known) if len(known) == len(sizes) else None,
        gone="stays" if stays else "now" if last <= now else _date(last),
        share=1.0 if stays else max(last - now, 0) / (end - now),
        stays=stays,
    )


def _step(step: Step) -> StepLine:
    when = "" if step.not_before is None else _date(step.not_before)
    if step.intent is None:
        return StepLine("Search again" if step.command else "By hand", step.why, when, command=step.command or "")
    if str(step.intent["kind"]) not in offered_kinds():
        return StepLine(str(step.intent["kind"]).capitalize(), step.why, when)
    intent = parse_intent(step.intent)
    return StepLine(
        headline(intent).verb, step.why, when, intent_kind(intent), tuple(sorted(answers_of(intent).items()))
    )


def _trace_words(what: str, column: str, value: str) -> str:
    return f"{what}{f' of {column}' if column else ''}: {value}"


def _versions(first: int | None, last: int | None) -> str:
    if first is None:
        return "none"
    return f"v{first} on" if last is None else f"v{first}" if first == last else f"v{first} to v{last}"


def _date(time: int | None) -> str:
    return _NOTHING if time is None else f"{moment(time):%d %b %Y}".lstrip("0")


def _days_late(gone: int, due: date) -> int:
    end = datetime(due.year, due.month, due.day, tzinfo=UTC) + timedelta(days=1)
    return max(-(-(gone - milliseconds(end)) // 86_400_000), 0)
