"""The notices of the configuration: the book, what sends it, and the record of activity that hears of it."""

from __future__ import annotations

from collections.abc import Callable

from explorer.activity.event import Event
from explorer.activity.files import RecordFiles
from explorer.activity.place import activity_place
from explorer.activity.record import ActivityRecord
from explorer.cli.in_force import in_force
from explorer.configuration.records import Notices
from explorer.core.errors import RequestError
from explorer.notices.book import NoticeBook
from explorer.notices.place import notices_place
from explorer.notices.sender import Sender
from explorer.notices.settings import checked_channels, sending_rules
from explorer.notices.store import NoticeStore
from explorer.system import ENGINE_INFO
from explorer.variables import NOTICES_VARIABLE


def notice_book() -> NoticeBook:
    """Return the notices.

    Raises:
        RequestError: They are switched off.
    """
    place = notices_place()
    if place is None:
        raise RequestError(
            f"Notices are off: {NOTICES_VARIABLE}, or notices.folder, is off. Name a folder there.", field="folder"
        )
    return NoticeBook(NoticeStore(place))


def used_book() -> NoticeBook | None:
    """Return the notices if the configuration names any setting of them, or some were posted; None else.

    Raises:
        StorageError: This user may not look into their folder.
    """
    place, values = notices_place(), in_force().values
    if place is None:
        return None
    book = NoticeBook(NoticeStore(place))
    named = values.webhooks or values.mail.host or values.notices != Notices()
    return book if named or book.store.exists else None


def notice_sender(book: NoticeBook, tell: Callable[[Event], None]) -> Sender:
    """Return what sends them.

    Raises:
        RequestError: The configuration does not fit.
    """
    values = in_force().values
    return Sender(book, checked_channels(values), sending_rules(values), tell)


def activity_record() -> ActivityRecord | None:
    """Return the record of activity that a server of this configuration writes; None where there is none.

    Raises:
        StorageError: It cannot be written.
    """
    settings = in_force().values.serve
    place = activity_place(settings.activity, default=settings.allow_commits or settings.basic_auth is not None)
    if place is None:
        usual = activity_place()
        place = usual if usual is not None and RecordFiles.at(usual).existing() else None
    return None if place is None else ActivityRecord(place, program=ENGINE_INFO)
