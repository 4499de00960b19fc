"""``notices``: what should be known now, what was done about it, and whether it can be sent."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, TypeAlias

import typer

from explorer import formatting as fmt
from explorer.activity.event import Event
from explorer.cli.arguments import JsonFlag
from explorer.cli.in_force import in_force
from explorer.cli.notice_desk import activity_record, notice_book
from explorer.cli.output import emit, listing, note
from explorer.cli.two_people import settle_notices, system_name
from explorer.core.errors import RequestError, StorageError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import period
from explorer.core.versions.commits.time_words import NO_TIME, stated_time
from explorer.notices.book import NoticeBook, PostedNotice
from explorer.notices.sender import deliveries, trial_message
from explorer.notices.settings import checked_channels

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
    try:
        settle_notices(book)
    except StorageError as error:
        note(error.message)
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
        raise RequestError("A reason is missing. Give --reason, for others to read.", field="reason")
    ends = None if action == "acknowledge" else _time(until)
    posted, by = book.find(key), system_name()
    record = activity_record()
    if record is not None:
        # On the disk before it is done, as everything in the record.
        record.add(
            Event(
                kind="notice",
                person=by,
                what=action,
                table=posted.notice.name or posted.notice.table,
                version=posted.notice.version,
                detail=posted.id,
            )
        )
    if ends is None:
        return book.acknowledge(posted.id, by=by, reason=reason)
    return book.snooze(posted.id, ends, by=by, reason=reason)


def _time(text: str | None) -> datetime:
    if text is None:
        raise RequestError("Until when? Give --until, for example 'tomorrow 9:00' or '3 hours'.", field="until")
    now = datetime.now(UTC)
    try:
        return now + period(text, "until")
    except (RequestError, OverflowError):
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
    listed, sent = book.notices(everything=everything), deliveries(book)
    if as_json:
        for each in listed:
            emit(each)
        return
    listing(
        ["id", "severity", "since", "notice", "state"],
        [
            (each.id[:_SHOWN], each.notice.severity, each.notice.when, each.notice.title, _state(each))
            for each in listed
        ],
        "No open notices." if not everything else "No notices yet.",
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
        raise RequestError(
            "No channel is configured. Add [[webhooks]] or [mail] to the configuration.", field="webhooks"
        )
    accepted = True
    for channel in channels:
        now = time.time()
        answer = channel.send(trial_message(now), now)
        accepted = accepted and answer.accepted
        if as_json:
            emit(ChannelTest(channel=channel.name, place=channel.place, accepted=answer.accepted, answer=answer.text))
        else:
            note(f"{channel.name}: {'accepted' if answer.accepted else 'not accepted'}. {answer.text}.")
    return 0 if accepted else _FAILED
