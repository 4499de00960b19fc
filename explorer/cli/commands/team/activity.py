"""``activity``: who did what, out of the record of a server, and whether the record is as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from explorer import formatting as fmt
from explorer.activity.chain import ChainProblem
from explorer.activity.event import KINDS, RecordEntry
from explorer.activity.files import RecordFiles
from explorer.activity.place import activity_place
from explorer.activity.reading import RecordFilter, check_record, cloud_event, entries
from explorer.cli.arguments import JsonFlag
from explorer.cli.named_times import moment_of
from explorer.cli.output import emit, facts, listing, note
from explorer.cli.two_people import open_requests_since, system_name
from explorer.core.errors import RequestError, TableNotFound
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import before, period
from explorer.variables import ACTIVITY_VARIABLE

_FOUND = 1
_KEEP = "30 days"


class RecordVerified(JsonRecord, frozen=True, kw_only=True):
    """Whether a record is as it was written.

    Attributes:
        record: The file that is written; those that were rotated away are beside it.
        valid: No problem was found.
        lines: Entries that were read.
        first_number: The number of the first one, which is 1 if none is missing; null without entries.
        last_number: That of the last one.
        head: SHA-256 of the last entry. Keep it elsewhere, for --expect.
        problems: What is not as it was written.
    """

    record: str
    valid: bool
    lines: int
    first_number: int | None
    last_number: int
    head: str
    problems: tuple[ChainProblem, ...]


class RecordArchived(JsonRecord, frozen=True, kw_only=True):
    """What of a record was archived.

    Attributes:
        record: The file that is written.
        archive: The folder of the archive.
        files: Names of the files that were moved there, oldest first; none if there was nothing to archive.
        last_number: The number of the last entry that was archived; null if nothing was.
        head: SHA-256 of that entry; null if nothing was. It is the head of the archive.
    """

    record: str
    archive: str
    files: tuple[str, ...]
    last_number: int | None
    head: str | None


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
            help="With --verify: a head that an earlier check printed, which an entry must have. Repeatable.",
        ),
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            "--archive",
            metavar="FOLDER",
            help="Verify the record, then move its older files to this folder. One folder for all of a record.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="INTERVAL",
            help=f"With --archive: files with a newer entry stay (default: {_KEEP}).",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Only entries from a time on, for example yesterday, or of '7 days'."
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Only entries of this person.")] = "",
    on: Annotated[
        str, typer.Option("--table", metavar="NAME", help="Only entries of this table, or of those below this folder.")
    ] = "",
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"Only entries of this kind: {', '.join(KINDS)}.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the newest N entries (default: all).")
    ] = None,
    cloud_events: Annotated[
        bool, typer.Option("--cloud-events", help="Print each entry as a CloudEvent 1.0, as JSON.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """Show who did what, newest first: opened rows, exports, plans, commits, maintenance, sign-ins, and refusals.

    With --verify, check the chain of digests instead: exit code 1 if an entry was changed, removed, or added. A record
    that was rewritten together with its head is only found with --expect.

    A record only grows: nothing is deleted by itself. With --archive, files that are older than --keep are copied,
    compared, and then deleted from the record, and an entry records this. The folder is a record as well, which the
    same command reads.
    """
    of_entries = {
        "--since": since,
        "--by": by,
        "--table": on,
        "--kind": kind,
        "--limit": limit,
        "--cloud-events": cloud_events,
    }
    if archive is not None:
        _refuse("--archive", {"--verify": verify, "--expect": expect, **of_entries})
    elif verify:
        _refuse("--verify", {"--keep": keep, **of_entries})
    elif expect or keep:
        option, mode = ("--expect", "--verify") if expect else ("--keep", "--archive")
        raise RequestError(f"{option} needs {mode}.", field=option)
    files = _files(place)
    if archive is not None:
        return _archived(files, archive, keep or _KEEP, as_json=json)
    if verify:
        return _verified(files, tuple(expect or ()), as_json=json)
    if kind and kind not in KINDS:
        raise RequestError(f"--kind {kind} is not known. It can be: {', '.join(KINDS)}.", field="kind", allowed=KINDS)
    wanted = RecordFilter(None if since is None else _since(since), by, on, kind)
    matching = islice(entries(files, wanted), limit)
    if cloud_events:
        for entry in matching:
            print(msgspec.json.encode(cloud_event(entry)).decode())
    elif json:
        for entry in matching:
            emit(entry)
    else:
        listing(
            ["time", "who", "from", "what", "table", "version", "outcome"],
            _rows(matching),
            f"The record {files.current} has no such entry.",
        )
    return 0


def _refuse(mode: str, options: Mapping[str, object]) -> None:
    """Refuse options that mean nothing beside another one."""
    for option, value in options.items():
        if value not in (None, "", [], False):
            raise RequestError(f"{option} has no effect with {mode}. Leave one of them out.", field=option)


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
    with suppress(RequestError):
        return before(datetime.now(UTC), period(text, "--since"))
    try:
        return moment_of(text)
    except RequestError as error:
        raise RequestError(
            f"--since is neither an interval, such as '7 days', nor a time: {error}", field="since"
        ) from error


def _rows(listed: Iterator[RecordEntry]) -> Iterator[tuple[str, ...]]:
    for entry in listed:
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


def _archived(files: RecordFiles, folder: Path, keep: str, *, as_json: bool) -> int:
    from explorer.activity.archive import archive
    from explorer.activity.configured import PROGRAM
    from explorer.activity.record import ActivityRecord

    now = datetime.now(UTC)
    # What open requests for approval rest on stays, however old it is.
    kept = before(now, period(keep, "--keep", or_zero=True))
    until = min(filter(None, (kept, open_requests_since())))
    done = archive(ActivityRecord(files.current, program=PROGRAM), folder, before=until, person=system_name())
    document = RecordArchived(
        record=str(files.current),
        archive=str(folder.expanduser().absolute()),
        files=tuple(path.name for path in done.files),
        last_number=None if done.end is None else done.end.number,
        head=None if done.end is None else done.end.digest,
    )
    if as_json:
        emit(document)
    elif done.end is None:
        note(f"No closed file of {files.current} is wholly older than {keep}, or needed no more. Nothing was moved.")
    else:
        note(
            f"Moved {fmt.plural(len(done.files), 'file')} with the entries up to {done.end.number:,} to "
            f"{document.archive}. To check them: delta-explorer activity {folder / files.current.name} --verify"
        )
    return 0


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
            [
                ("record", document.record),
                ("entries", document.lines),
                *([] if check.start is None else [("archived before", f"entries up to {check.start.number:,}")]),
                ("head", document.head),
            ],
        )
        listing(
            ["file", "line", "problem"],
            ((each.file, fmt.UNKNOWN if each.line is None else str(each.line), each.detail) for each in check.problems),
            "",
        )
        if document.valid and check.start is not None:
            expect = f"delta-explorer activity ARCHIVE --verify --expect {check.start.digest}"
            note(f"To check the archive that comes before: {expect}")
        if document.valid:
            note(
                "Every entry is as it was written. Keep the head elsewhere: with --expect, a rewritten record is found."
            )
    return 0 if document.valid else _FOUND
