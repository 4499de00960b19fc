"""What a person sees of an erasure's proof: the places, the steps, the dates, and what may be claimed.

Invariants: nothing is called erased that the proof does not; a bar ends where the last of its files can be gone, and
has no end where a file stays; a proof on show names its condition and its version; the law's date is held against the
files and against the log, each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.auditing.erasure import Erasure, ErasureStep
from explorer.auditing.erasure.proof import STATES, MatchedPlace, State
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.transaction.intents.documents import intent_kind, parse_intent
from explorer.core.versions.commit_times import moment
from explorer.views.act.intent_form import answers_of, headline, offered_kinds
from explorer.views.erasure_axis import (
    DAY,
    AxisBar,
    DayTick,
    ErasureAxis,
    StepMark,
    axis_of,
    bar_to,
    end_of,
    place_bars,
    step_marks,
    ticks,
)
from explorer.views.listing import Listing, ListingColumn

_WORDS: Final[dict[State, tuple[str, str]]] = {
    "live": ("Live rows", "a delete hides them; their files remain"),
    "masked": ("Masked rows", "a deletion vector hides rows but does not erase them"),
    "history": ("Old versions", "a vacuum deletes them after the retention period"),
    "feed": ("Change feed", "a vacuum deletes its files after the retention period"),
    "orphan": ("Orphans", "a vacuum deletes them by their file time"),
}
_COLUMNS: Final = (
    ListingColumn("state", "place"),
    ListingColumn("rows", "rows", "rows"),
    ListingColumn("path", "file", "path"),
    ListingColumn("size", "size", "size", "unknown"),
    ListingColumn("from_version", "since", "version"),
    ListingColumn("to_version", "until", "version"),
    ListingColumn("gone", "deletable from", "time", "stays"),
)
_KEPT_BY: Final = ListingColumn("kept_by", "why it remains", unknown="")
_NOTHING: Final = "\u2014"
_BOUNDS: Final = {"least value": "minimum", "greatest value": "maximum"}
"""What the log may say of a column, as the proof names it, in words."""
_FIRST_STEP: Final = 2
"""The number of the first step that is left: finding is the first."""
_MOST_VERSIONS: Final = 4


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """The copies in one state, or what the log says.

    Attributes:
        state: The state; ``log`` for the log itself.
        title, what, why: The state in words.
        rows: Matching rows; None for the log.
        files, size: How much there is; the bytes are None where one file's are unknown, or not asked.
        gone: From when the last of its files can be gone, in words.
        bars: Its files on the axis.
    """

    state: str
    title: str
    what: str
    why: str
    rows: int | None
    files: int
    size: int | None
    gone: str
    bars: tuple[AxisBar, ...]


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step that is left: what it is, why, from when, and whether that is still to come; the change to open with its
    answers, or a command."""

    title: str
    why: str
    not_before: str
    waits: bool
    kind: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class DueDate:
    """The law's date beside the technical ones.

    Attributes:
        day: The day, in words.
        gone: When the last copy can be gone, in words; empty where a file stays.
        late: How many days after the due day that is; None where a file stays.
        logged: Until when the log names the rows, in words; empty if it does not, or never ends to.
        log_late: How many days after the due day that is.
        fitting: Of how many days a retention is that would keep the date, if a shorter one does; else None.
    """

    day: str
    gone: str
    late: int | None
    logged: str
    log_late: int
    fitting: int | None


@dataclass(frozen=True, slots=True)
class ErasureView:
    """A proof as a page shows it.

    Attributes:
        where, version, searched: What was searched, and when.
        copies, files: Matching rows in all places, and the files that hold them.
        overlap: Files that hold rows of two places, in words; empty if there are none.
        read: What was read, in words.
        places: One a state that has any, or that a step will write to; then the log, if it names the rows.
        steps: What is left to do, in order.
        marks: The steps on the axis.
        ticks: The days of the axis.
        traces: What the log itself says: the file, what it holds, and from when it can be gone.
        not_answered: Data files, and the log, that could not be answered, and why.
        other_tables: Tables that were not searched and may hold such rows: the name, empty where the table cannot
            be read, and why it is named.
        not_read: What else lies outside of the proof.
        obstacles: Why the rows cannot be called erased; empty if they can.
        due: The law's date, if there is one.
        chain_head: Of the log, empty if it has none.
    """

    where: str
    version: int
    searched: datetime
    copies: int
    files: int
    overlap: str
    read: str
    places: tuple[PlaceLine, ...]
    steps: tuple[StepLine, ...]
    marks: tuple[StepMark, ...]
    ticks: tuple[DayTick, ...]
    traces: tuple[tuple[str, str, str], ...]
    not_answered: tuple[tuple[str, str], ...]
    other_tables: tuple[tuple[str, str], ...]
    not_read: tuple[str, ...]
    obstacles: tuple[str, ...]
    due: DueDate | None
    chain_head: str


def erasure_view(proof: Erasure, due: date | None = None) -> ErasureView:
    """Return a proof as a page shows it.

    Args:
        proof: The proof.
        due: The date by which the rows must be gone, if there is one.
    """
    read = proof.basis.results.read
    dates = [place.gone_from for place in proof.places if place.gone_from is not None]
    logged = [trace.gone_from for trace in proof.traces if trace.gone_from is not None]
    axis = axis_of(proof.basis.now, dates or ([] if proof.places else logged), due)
    steps = tuple(_step(step, proof.basis.now) for step in proof.steps)
    places = tuple(_lines(proof, axis))
    against = None if due is None else _against(proof, due)
    return ErasureView(
        where=proof.where,
        version=proof.version,
        searched=moment(proof.basis.now),
        copies=sum(place.rows for place in proof.places),
        files=len({place.path for place in proof.places}),
        overlap=_overlap(proof.places),
        read=f"{fmt.plural(read.num_rows, 'file')}, {fmt.quantity(sum(read.column('rows').to_pylist()), 'row')}",
        places=places,
        steps=steps,
        marks=step_marks(
            axis,
            [(number, steps[number - _FIRST_STEP].title, step) for number, step in enumerate(proof.steps, _FIRST_STEP)],
        ),
        ticks=ticks(
            axis,
            (bar for line in places for bar in line.bars),
            late=against is not None and against.late != 0,
        ),
        traces=tuple(
            (trace.path.rpartition("/")[2], _trace_words(trace.what, trace.column, trace.value), _date(trace.gone_from))
            for trace in proof.traces
        ),
        not_answered=tuple((each.path, each.reason) for each in proof.not_answered),
        other_tables=tuple(("" if each.problem else each.name, each.words()) for each in proof.other_tables),
        not_read=proof.not_read,
        obstacles=proof.obstacles,
        due=against,
        chain_head=proof.basis.chain_head or "",
    )


def place_listing(places: Sequence[MatchedPlace]) -> Listing:
    """Return every file that holds matching rows, with its state; why it stays, if one of them does."""
    table = pa.table(
        {
            "state": strings([_WORDS[place.state][0] for place in places]),
            "rows": pa.array([place.rows for place in places], pa.int64()),
            "path": strings([place.path for place in places]),
            "size": pa.array([place.size for place in places], pa.int64()),
            "from_version": pa.array([place.from_version for place in places], pa.int64()),
            "to_version": pa.array([place.to_version for place in places], pa.int64()),
            "gone": pa.array([place.gone_from for place in places], pa.timestamp("ms", "UTC")),
            "kept_by": strings([place.kept_by or None for place in places]),
        }
    )
    columns = (*_COLUMNS, _KEPT_BY) if any(place.kept_by for place in places) else _COLUMNS
    return Listing("erasure", columns, table, ("path", "state"))


def _lines(proof: Erasure, axis: ErasureAxis) -> list[PlaceLine]:
    numbered = enumerate(proof.steps, _FIRST_STEP)
    writes = next(((number, step.feed_rows) for number, step in numbered if step.feed_rows), None)
    lines = [_line(proof, state, axis, writes if state == "feed" else None) for state in STATES]
    return [line for line in (*lines, _log_line(proof, axis)) if line is not None]


def _line(proof: Erasure, state: State, axis: ErasureAxis, writes: tuple[int, int] | None) -> PlaceLine | None:
    places = [place for place in proof.places if place.state == state]
    if not places and writes is None:
        return None
    sizes = {place.path: place.size for place in places}
    known = [size for size in sizes.values() if size is not None]
    title, why = _WORDS[state]
    dates = [place.gone_from for place in places]
    bars = place_bars(places, axis, {"live": "deleted", "masked": "purged"}.get(state, ""))
    if writes is not None:
        number, rows = writes
        then = proof.basis.now + proof.basis.stored.file_retention
        why = f"step {number} writes {fmt.plural(rows, 'row')} more: the delete itself is recorded"
        words = f"+{fmt.count(rows)} written by step {number}"
        bars, dates = (*bars, bar_to(then, axis, words, why, "planned")), [*dates, then]
    return PlaceLine(
        state=state,
        title=title,
        what=_what(state, places),
        why=next((place.kept_by for place in places if place.gone_from is None), why),
        rows=sum(place.rows for place in places),
        files=len(sizes),
        size=sum(known) if len(known) == len(sizes) else None,
        gone=_deletable_from(dates, axis.now),
        bars=bars,
    )


def _log_line(proof: Erasure, axis: ErasureAxis) -> PlaceLine | None:
    if not proof.traces:
        return None
    dates = [trace.gone_from for trace in proof.traces]
    files = len({trace.path for trace in proof.traces})
    last = None if None in dates else max(date for date in dates if date is not None)
    deletable = _deletable_from(dates, axis.now)
    title = "\n".join(f"{trace.path}: {_BOUNDS.get(trace.what, trace.what)}" for trace in proof.traces[:6])
    kinds = sorted({_BOUNDS.get(trace.what, trace.what) for trace in proof.traces})
    return PlaceLine(
        state="log",
        title="The log itself",
        what=f"it contains the values: {', '.join(kinds)}",
        why="a checkpoint, then a log cleanup",
        rows=None,
        files=files,
        size=None,
        gone=deletable,
        bars=(bar_to(last, axis, fmt.plural(files, "log file", "log files"), title),),
    )


def _what(state: State, places: Sequence[MatchedPlace]) -> str:
    firsts = [place.from_version for place in places if place.from_version is not None]
    lasts = [place.to_version for place in places if place.to_version is not None]
    match state:
        case "live":
            return "in the newest version, visible to every reader"
        case "masked":
            return "deleted, but still in their files"
        case "history":
            reach = f"v{min(firsts)} to v{max(lasts)}" if firsts and lasts else "old versions"
            return f"{reach} reach them through time travel"
        case "feed":
            return f"recorded with {_some(sorted(set(firsts)))}" if firsts else "nothing recorded yet"
        case "orphan":
            return "in orphaned files"


def _some(versions: Sequence[int]) -> str:
    named = ", ".join(f"v{version}" for version in versions[:_MOST_VERSIONS])
    more = len(versions) - _MOST_VERSIONS
    return f"{named} and {more:,} more" if more > 0 else named


def _overlap(places: Sequence[MatchedPlace]) -> str:
    states: dict[str, set[str]] = {}
    for place in places:
        states.setdefault(place.path, set()).add(_WORDS[place.state][0].lower())
    shared = [names for names in states.values() if len(names) > 1]
    if not shared:
        return ""
    both = " and ".join(sorted(set().union(*shared)))
    return f"{fmt.count(len(shared))} {'holds' if len(shared) == 1 else 'hold'} {both}"


def _against(proof: Erasure, due: date) -> DueDate:
    deletable, end = proof.gone_from, end_of(due)
    logged = [trace.gone_from for trace in proof.traces]
    last = None if None in logged else max((time for time in logged if time is not None), default=None)
    late = None if deletable is None else _days_late(deletable, end)
    fitting = (end - proof.basis.now) // DAY
    helps = bool(late) and 0 < fitting * DAY < proof.basis.stored.file_retention
    return DueDate(
        day=f"{due:%d %b %Y}".lstrip("0"),
        gone="" if deletable is None else _date(deletable),
        late=late,
        logged="" if last is None else _date(last),
        log_late=0 if last is None else _days_late(last, end),
        fitting=fitting if helps else None,
    )


def _step(step: ErasureStep, now: int) -> StepLine:
    when = "" if step.not_before is None else _date(step.not_before)
    waits = step.not_before is not None and step.not_before > now
    if step.intent is None:
        title = "Search again" if step.command else "Manual"
        return StepLine(title, step.why, when, waits, command=step.command or "")
    if str(step.intent["kind"]) not in offered_kinds():
        return StepLine(str(step.intent["kind"]).capitalize(), step.why, when, waits)
    intent = parse_intent(step.intent)
    answers = tuple(sorted(answers_of(intent).items()))
    return StepLine(headline(intent).verb, step.why, when, waits, intent_kind(intent), answers)


def _trace_words(what: str, column: str, value: str) -> str:
    return f"{_BOUNDS.get(what, what)}{f' of {column}' if column else ''}: {value}"


def _deletable_from(dates: Sequence[int | None], now: int) -> str:
    if None in dates:
        return "stays"
    last = max((time for time in dates if time is not None), default=now)
    return "now" if last <= now else _date(last)


def _date(time: int | None) -> str:
    return _NOTHING if time is None else f"{moment(time):%d %b %Y}".lstrip("0")


def _days_late(deletable: int, end: int) -> int:
    return max(-(-(deletable - end) // DAY), 0)
