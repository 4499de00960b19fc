"""Requests for approval among the notices: one that waits for a second person is an open notice.

Invariant: a request may be decided by a program that cannot write the notices, such as the command of another user of
the machine; whoever reads the notices after that says so in them.
"""

from __future__ import annotations

import logging
import os
from typing import Final

import msgspec

from explorer.approvals.request import ApprovalRequest
from explorer.approvals.shelf import Shelf
from explorer.core.errors import RequestError, StorageError
from explorer.notices.book import NoticeBook
from explorer.notices.notice import Notice
from explorer.storage.roots import folder_of, is_url

_log = logging.getLogger(__name__)
_KEY: Final = "approval:"


def post_request(book: NoticeBook, request: ApprovalRequest) -> None:
    """Post a request that waits as a notice; of one that waits no longer, say so.

    Args:
        book: The notices.
        request: The request, as it is now.

    Raises:
        StorageError: It cannot be written; the request itself is as it was given.
    """
    last = request.last
    notice = Notice(
        key=f"{_KEY}{request.token}",
        kind="approval",
        severity="warning",
        title=f"Request {request.number}: {request.kind} of {request.table} is waiting for approval",
        text=f"Reason of {request.asked_by.name}: {request.reason} · Approve or decline it in the table's Edit tab.",
        table=request.location if is_url(request.location) else os.path.realpath(folder_of(request.location)),
        name=request.table,
        version=None if request.read_version < 0 else request.read_version,
        when=last.time,
    )
    try:
        with book.changes() as changes:
            if request.state == "asked":
                changes.post(notice)
            elif changes.is_open(notice.key):
                by = f" by {last.by.name}" if last.by is not None else ""
                changes.resolve(msgspec.structs.replace(notice, text=f"Now {request.state}{by}."))
    except StorageError as error:
        state = "saved" if request.state == "asked" else request.state
        raise error.with_facts(
            message=f"Request {request.number} is {state}, but no notice of it could be written. {error.message}"
        ) from error


def settle_notices(book: NoticeBook, shelf: Shelf) -> int:
    """Say of each open notice of a request that waits no longer that it is over; return how many there were.

    A request that something else changed closes nothing: its notice stays until somebody has looked.

    Args:
        book: The notices.
        shelf: The requests.

    Raises:
        StorageError: The notices or the requests cannot be read, or the notices cannot be written.
    """
    waiting = {key.removeprefix(_KEY) for key in book.open_keys(_KEY)}
    if not waiting:
        return 0
    settled = 0
    for listed in shelf.all():
        if listed.token not in waiting or listed.state == "asked":
            continue
        try:
            request = shelf.get(listed.number)
        except (RequestError, StorageError) as error:
            _log.warning("%s", error)  # the message is complete
            continue
        if request.token == listed.token and request.state != "asked":
            post_request(book, request)
            settled += 1
    return settled
