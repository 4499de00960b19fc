"""``tripwires``: rules of one's own over new commits, for a scheduled job, and tried on history first."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from explorer import formatting as fmt
from explorer.auditing.tripwires.alarms import Alarm, alarms, tried
from explorer.auditing.tripwires.records import Tripwire, read_tripwires
from explorer.auditing.words import time_text
from explorer.cli.arguments import JsonFlag
from explorer.cli.commands.audit import Tables
from explorer.cli.errors import exit_code, facts_of
from explorer.cli.in_force import in_force, roots_of
from explorer.cli.output import Counts, complain, counting, emit, listing, note, patience
from explorer.cli.report_files import check_place, read_whole, save_whole
from explorer.cli.tables import location_of, open_root
from explorer.cli.two_people import settle_notices
from explorer.core.errors import CorruptTable, ExplorerError, RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import before, milliseconds, period
from explorer.core.versions.commit_times import moment
from explorer.fleet import TableAudit, places
from explorer.storage.served_root import ServedRoot
from explorer.table import Table

_FIRED: Final = 1

Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="TOML file of tripwires, for example that of docs/guide/audit.md (default: that of the configuration).",
        show_default=False,
    ),
]
Try = Annotated[
    str | None,
    typer.Option(
        "--try",
        metavar="INTERVAL",
        help="Only report when the tripwires would have fired over a past interval, for example '90 days'.",
    ),
]
After = Annotated[
    int | None, typer.Option("--after", metavar="N", min=-1, help="Commits after version N are new (one table only).")
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="FILE", help="Record the last checked version of each table in FILE; later commits are "
        "new. A table that is not in FILE yet is checked from its newest version on."
    ),
]  # fmt: skip


Watching = Annotated[
    bool,
    typer.Option("--watch", help="Check again and again until SIGTERM or Ctrl-C, and send notices of what is new."),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="INTERVAL",
        help="With --watch: how often, for example '5 minutes' (default: that of the configuration, or 1 minute).",
        show_default=False,
    ),
]


class AlarmLine(JsonRecord, frozen=True, kw_only=True):
    """An alarm: the commit (for ``silence``, the last commit before it), its time as ISO 8601, and what happened."""

    table: str
    tripwire: str
    version: int
    time: str
    author: str | None
    text: str


class WatchLine(JsonRecord, frozen=True, kw_only=True):
    """A round of --watch: how many tables were checked, how many cannot be read, and how many notices are new."""

    tables: int
    unreadable: int
    posted: int


class TrialLine(JsonRecord, frozen=True, kw_only=True):
    """How often a tripwire would have fired (--try), and at which commits."""

    table: str
    tripwire: str
    fired: int
    versions: tuple[int, ...]


def tripwires(
    tables: Tables = None,
    *,
    rules: Rules = None,
    try_: Try = None,
    after: After = None,
    state: State = None,
    watch: Watching = False,
    every: Every = None,
    json: JsonFlag = False,
) -> int:
    """Check the new commits of tables against tripwires: exit code 1 if one of them fires.

    A table that cannot be read does not stop the others. Its error is printed to stderr, and the exit code is that of
    the first error.

    With --watch, this is a service: it also compares what your clients can read, and posts notices, which the channels
    of the configuration send; see `notices`. A table that cannot be read is a notice of its own.
    """
    if sum((try_ is not None, after is not None, state is not None, watch)) != 1:
        raise RequestError("Give one of --try, --after, --state, and --watch.", field="--state")
    if every is not None and not watch:
        raise RequestError("--every needs --watch.", field="--every")
    if state is not None:
        check_place(state)
    named = rules or _configured_rules()
    if named is None and not watch:
        raise typer.BadParameter(
            "Name a file, or put it into the configuration as notices.rules.", param_hint="--rules"
        )
    wires = () if named is None else read_tripwires(_text(named), str(named))
    if watch:
        return _watched(roots_of(list(map(location_of, tables or ())), "TABLE"), wires, every, as_json=json)
    known = {} if state is None else _known(state)
    broken, fired = 0, False
    now = datetime.now(UTC)
    since = None if try_ is None else before(now, period(try_, "--try"))
    for place in _places(roots_of(list(map(location_of, tables or ())), "TABLE")):
        try:
            table = _opened(place)
            if try_ is not None:
                _tell(table, wires, _alarms(table, wires, now, since=since), try_, as_json=json)
                continue
            start = after if after is not None else known.get(table.location, table.latest_version())
            fired_alarms = _alarms(table, wires, now, after=start)
            known[table.location] = table.latest_version()
        except ExplorerError as error:
            complain(facts_of(error), as_json=json)
            broken = broken or exit_code(error)
            continue
        fired = fired or bool(fired_alarms)
        _alarm(table, fired_alarms, start, as_json=json)
    if state is not None:
        _keep(state, known)
    return broken or (_FIRED if fired else 0)


def _configured_rules() -> Path | None:
    named = in_force().values.notices.rules
    return None if named is None else Path(named)


def _watched(roots: Sequence[ServedRoot], wires: tuple[Tripwire, ...], every: str | None, *, as_json: bool) -> int:
    """Watch tables until a signal ends it."""
    from explorer.catalogs.folders import served_roots
    from explorer.cli.notice_desk import activity_record, notice_book, notice_sender
    from explorer.watching.watch import Round, Watch

    values = in_force().values
    pause = period(every or values.notices.every, "--every" if every else "notices.every")
    book, record = notice_book(), activity_record()
    sender = notice_sender(book, (lambda _: None) if record is None else record.tell)
    sender.before = partial(settle_notices, book)
    home = next(iter(values.serve.public_url), "")
    watch = Watch(served_roots(roots), wires, book, home)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: watch.stop())

    def print_round(done: Round) -> None:
        if as_json:
            emit(WatchLine(tables=done.tables, unreadable=done.unreadable, posted=done.posted))
            sys.stdout.flush()
        elif done.posted:
            note(f"{fmt.plural(done.posted, 'new notice')} on {fmt.plural(done.tables, 'table')}.")

    sender.begin()
    try:
        if not as_json:
            note(f"Watching every {every or values.notices.every}. The notices are in {book.store.path.parent}.")
        watch.run(pause, print_round)
    finally:
        sender.end()
    return 0


def _places(roots: Sequence[ServedRoot]) -> Iterator[ServedRoot | TableAudit]:
    """Yield the tables; the search for the next one is shown if it takes long."""
    shown = dict[str, Counts]()

    def searched(folders: int) -> None:
        shown["now"].searched(folders)

    searching = places(roots, searched=searched)
    while True:
        with counting("Searching for tables") as shown["now"]:
            place = next(searching, None)
        if place is None:
            return
        yield place


def _opened(place: ServedRoot | TableAudit) -> Table:
    if isinstance(place, ServedRoot):
        return open_root(place)
    assert place.error is not None
    raise place.error


def _alarms(
    table: Table, wires: tuple[Tripwire, ...], now: datetime, *, after: int = -1, since: datetime | None = None
) -> tuple[Alarm, ...]:
    latest = table.latest_version()
    if after > latest:
        raise CorruptTable(
            f"The log of {table.location} ends at v{latest}, but v{after} was checked before: commits were "
            "removed, or it is another table. Find out which, then continue from this version.",
            version=latest,
            table=table.location,
        )
    with patience(f"Reading {fmt.plain(table.location)}"):
        history = table.history_record()
    start = None if since is None else milliseconds(since)
    return alarms(wires, history, milliseconds(now), after=after, since=start)


def _tell(table: Table, wires: tuple[Tripwire, ...], fired: tuple[Alarm, ...], span: str, *, as_json: bool) -> None:
    """Say of each tripwire when it would have fired."""
    if not as_json:
        rows = [(wire.name, wire.kind, tried(wire, fired, span)) for wire in wires]
        listing(["tripwire", "when", table.location], rows, "No tripwires.")
        return
    for wire in wires:
        versions = [alarm.version for alarm in fired if alarm.tripwire == wire.name]
        emit(TrialLine(table=table.location, tripwire=wire.name, fired=len(versions), versions=tuple(versions)))


def _alarm(table: Table, fired: tuple[Alarm, ...], start: int, *, as_json: bool) -> None:
    if as_json:
        for each in fired:
            fields = msgspec.structs.asdict(each) | {"time": moment(each.time).isoformat()}
            emit(AlarmLine(table=table.location, **fields))
        return
    if fired:
        rows = [
            (each.tripwire, f"v{each.version}", time_text(each.time), each.author or "", each.text) for each in fired
        ]
        listing(["tripwire", "version", "time", "author", "what"], rows, "")
    count = fmt.plural(len(fired), "alarm") if fired else "no alarm"
    note(f"{table.location}: {count} after v{start}, up to v{table.latest_version()}.")


def _text(path: Path) -> str:
    try:
        return read_whole(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"The tripwires in {path} cannot be read: {error}.", path=str(path)) from error


def _known(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(read_whole(path), type=dict[str, int])
    except (OSError, msgspec.DecodeError) as error:
        raise RequestError(
            f"The state in {path} cannot be read: {error}. Restore it, or remove it to begin at the newest versions.",
            path=str(path),
        ) from error


def _keep(path: Path, known: dict[str, int]) -> None:
    save_whole(path, msgspec.json.format(msgspec.json.encode(known, order="sorted")) + b"\n")
