"""``activity`` and ``notices``: what people did with a server, and what they should know."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
import typer

from explorer import formatting as fmt
from explorer.activity.chain import ChainProblem
from explorer.activity.event import KINDS, Entry, Event
from explorer.activity.files import RecordFiles
from explorer.activity.place import activity_place
from explorer.activity.reading import EntryFilter, check_record, cloud_event, entries
from explorer.cli.arguments import JsonFlag
from explorer.cli.in_force import in_force
from explorer.cli.named_times import moment_of
from explorer.cli.notice_desk import activity_record, notice_book, user_name
from explorer.cli.output import emit, facts, listing, note
from explorer.core.errors import CorruptTable, ExplorerError, RequestError, TableNotFound
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.table_properties.values import interval
from explorer.core.versions.commits.time_words import NO_TIME, stated_time
from explorer.notices.book import NoticeBook, PostedNotice
from explorer.notices.sender import deliveries, trial_message
from explorer.notices.settings import checked_channels, period
from explorer.variables import ACTIVITY_VARIABLE

_FOUND = 1


class RecordVerified(JsonRecord, frozen=True, kw_only=True):
    """Whether a record is as it was written.

    Attributes:
        record: The file that is written; those that were rotated away are beside it.
        valid: No problem was found.
        lines: Lines that were read.
        first_number: The number of the first one, which is 1 if none is missing; null without lines.
        last_number: That of the last one.
        head: SHA-256 of the last line. Keep it elsewhere, for --expect.
        problems: What is not as it was written.
    """

    record: str
    valid: bool
    lines: int
    first_number: int | None
    last_number: int
    head: str
    problems: tuple[ChainProblem, ...]


def activity(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECORD]",
            help="File or folder of the record (default: the one of the configuration or of "
            f"{ACTIVITY_VARIABLE}, otherwise one in the user's data folder).",
            show_default=False,
        ),
    ] = None,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Check that the record is as it was written.")] = False,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="DIGEST",
            help="With --verify: the head that an earlier check printed, which must be that of a line. Repeatable.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Only lines from a time on, for example yesterday, or of '7 days'."
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Only lines of this person.")] = "",
    on: Annotated[
        str, typer.Option("--table", metavar="NAME", help="Only lines of this table, or of those below this folder.")
    ] = "",
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"Only lines of this kind: {', '.join(KINDS)}.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the newest N lines (default: all).")
    ] = None,
    cloud_events: Annotated[
        bool, typer.Option("--cloud-events", help="Print each line as a CloudEvent 1.0, as JSON.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """Show who did what, newest first: opened rows, exports, plans, commits, maintenance, sign-ins, and refusals.

    With --verify, check the chain of digests instead: exit code 1 if a line was changed, removed, or added. A record
    that was rewritten together with its head is only found with --expect.
    """
    files = _files(place)
    if verify:
        return _verified(files, tuple(expect or ()), as_json=json)
    if kind and kind not in KINDS:
        raise RequestError(f"--kind {kind} is not known. It can be: {', '.join(KINDS)}.", field="kind", allowed=KINDS)
    wanted = EntryFilter(None if since is None else _since(since), by, on, kind)
    found = islice(entries(files, wanted), limit)
    if cloud_events:
        for entry in found:
            print(msgspec.json.encode(cloud_event(entry)).decode())
    elif json:
        for entry in found:
            emit(entry)
    else:
        listing(
            ["time", "who", "from", "what", "table", "version", "outcome"],
            _rows(found),
            f"The record {files.current} has no such line.",
        )
    return 0


def _files(place: Path | None) -> RecordFiles:
    named = activity_place(place)
    if named is None:
        raise RequestError(
            f"There is no record: {ACTIVITY_VARIABLE} is off. Name the file or the folder of a record.", field="RECORD"
        )
    files = RecordFiles.at(named)
    if not files.existing() and not files.head.exists():
        raise TableNotFound(
            f"There is no activity record at {files.current}. A server with --activity writes one.",
            location=str(files.current),
        )
    return files


def _since(text: str) -> datetime:
    with suppress(ExplorerError, ValueError, OverflowError):
        return datetime.now(UTC) - interval({"--since": text}, "--since", timedelta())
    try:
        return moment_of(text)
    except RequestError as error:
        raise RequestError(
            f"--since is neither an interval, such as '7 days', nor a time: {error}", field="since"
        ) from error


def _rows(found: Iterator[Entry]) -> Iterator[tuple[str, ...]]:
    for entry in found:
        event = entry.event
        yield (
            entry.time[:19] + "Z",
            event.person or fmt.UNKNOWN,
            event.address or fmt.UNKNOWN,
            " ".join(filter(None, (event.kind, event.what))),
            event.table or fmt.UNKNOWN,
            fmt.UNKNOWN if event.version is None else str(event.version),
            " ".join(filter(None, (event.outcome, event.detail))),
        )


def _verified(files: RecordFiles, expected: tuple[str, ...], *, as_json: bool) -> int:
    check = check_record(files, expected=expected)
    document = RecordVerified(
        record=str(files.current),
        valid=not check.problems,
        lines=check.lines,
        first_number=check.first,
        last_number=check.end.number,
        head=check.end.digest,
        problems=tuple(check.problems),
    )
    if as_json:
        emit(document)
    else:
        facts(
            "Activity record",
            [("record", document.record), ("lines", document.lines), ("head", document.head)],
        )
        listing(
            ["file", "line", "problem"],
            ((each.file, fmt.UNKNOWN if each.line is None else str(each.line), each.detail) for each in check.problems),
            "",
        )
        if document.valid:
            note(
                "Every line is as it was written. Keep the head elsewhere: with --expect, a rewritten record is found."
            )
    return 0 if document.valid else _FOUND


_FAILED: Final = 1
_SHOWN: Final = 8
NoticesAction: TypeAlias = Literal["list", "acknowledge", "snooze", "test"]
ActionArgument = Annotated[
    NoticesAction,
    typer.Argument(
        metavar="[list|acknowledge|snooze|test]",
        help="List what is open, deal with one notice, or send a test notice to each channel.",
    ),
]


class ChannelTest(JsonRecord, frozen=True, kw_only=True):
    """What a channel answered to a test notice.

    Attributes:
        channel: Its name.
        place: Where it leads, without its path.
        accepted: It took the notice.
        answer: What came back.
    """

    channel: str
    place: str
    accepted: bool
    answer: str


def notices(
    action: ActionArgument = "list",
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="ID of the notice, or the beginning of it.", show_default=False),
    ] = None,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stays with the notice.")] = "",
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="When the snooze ends: a time such as 'tomorrow 9:00' or 'next Monday 9:00 Europe/Berlin', or an "
            "interval such as '3 hours'.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list notices that were acknowledged or are over.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """List the notices of `tripwires --watch` and of a server, acknowledge or snooze one, or test where they are sent.

    What is acknowledged is not sent again. What is snoozed is sent again when that ends, unless it is over. `test`
    sends at once, also in quiet hours; exit code 1 means that a channel did not take it.
    """
    if action == "test":
        return _tested(as_json=json)
    book = notice_book()
    if action == "list":
        _list(book, everything=everything, as_json=json)
        return 0
    if key is None:
        raise typer.BadParameter("Name a notice; `delta-explorer notices` lists them.", param_hint="KEY")
    done = _dealt_with(book, action, key, reason, until)
    if json:
        emit(done)
    else:
        verb = "Acknowledged" if action == "acknowledge" else f"Snoozed until {done.until}:"
        note(f"{verb} {done.id[:_SHOWN]}, {done.notice.title}.")
    return 0


def _dealt_with(book: NoticeBook, action: NoticesAction, key: str, reason: str, until: str | None) -> PostedNotice:
    if action == "acknowledge" and until is not None:
        raise RequestError("--until is for snooze. Leave it out, or snooze the notice.", field="until")
    if not reason.strip():
        raise RequestError("A reason is missing. Give --reason, for those who come after you.", field="reason")
    ends = None if action == "acknowledge" else _time(until)
    found, by = book.find(key), user_name()
    record = activity_record()
    if record is not None:
        # On the disk before it is done, as everything in the record.
        record.add(
            Event(
                kind="notice",
                person=by,
                what=action,
                table=found.notice.name or found.notice.table,
                version=found.notice.version,
                detail=found.id,
            )
        )
    if ends is None:
        return book.acknowledge(found.id, by=by, reason=reason)
    return book.snooze(found.id, ends, by=by, reason=reason)


def _time(text: str | None) -> datetime:
    if text is None:
        raise RequestError("Until when? Give --until, for example 'tomorrow 9:00' or '3 hours'.", field="until")
    now = datetime.now(UTC)
    try:
        return now + period(text, "until")
    except (RequestError, CorruptTable, OverflowError):
        pass
    try:
        return stated_time(text, now).moment
    except RequestError as error:
        if error.reason != NO_TIME:
            raise
        raise RequestError(
            f"{text!r} is neither a time such as 'tomorrow 9:00' nor an interval such as '3 hours'.", field="until"
        ) from error


def _list(book: NoticeBook, *, everything: bool, as_json: bool) -> None:
    found, sent = book.notices(everything=everything), deliveries(book)
    if as_json:
        for each in found:
            emit(each)
        return
    listing(
        ["id", "severity", "since", "notice", "state"],
        [(each.id[:_SHOWN], each.notice.severity, each.notice.when, each.notice.title, _state(each)) for each in found],
        "No notice is open." if not everything else "No notice yet.",
        whole=("id", "severity"),
    )
    for line in sent:
        if line.status != "sent":
            again = f" It is tried again at {line.due}." if line.due else ""
            note(f"{line.channel}: {line.status} after {fmt.plural(line.tries, 'try', 'tries')}. {line.answer}.{again}")


def _state(each: PostedNotice) -> str:
    by = f" by {each.by}" if each.by else ""
    why = f": {each.reason}" if each.reason else ""
    until = f" until {each.until}" if each.until else ""
    return f"{each.state}{until}{by}{why}"


def _tested(*, as_json: bool) -> int:
    channels = checked_channels(in_force().values)
    if not channels:
        raise RequestError("There is no channel. Add [[webhooks]] or [mail] to the configuration.", field="webhooks")
    accepted = True
    for channel in channels:
        now = time.time()
        answer = channel.send(trial_message(now), now)
        accepted = accepted and answer.accepted
        if as_json:
            emit(ChannelTest(channel=channel.name, place=channel.place, accepted=answer.accepted, answer=answer.text))
        else:
            note(f"{channel.name}: {'taken' if answer.accepted else 'not taken'}. {answer.text}.")
    return 0 if accepted else _FAILED
