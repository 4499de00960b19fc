"""Requests for approval among the notices: one that waits for a second person is an open notice."""

from __future__ import annotations

import os

import msgspec

from explorer.approvals.request import ApprovalRequest
from explorer.core.errors import StorageError
from explorer.notices.book import NoticeBook
from explorer.notices.notice import Notice
from explorer.storage.roots import folder_of, is_url


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
        key=f"approval:{request.token}",
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
