"""The audit of one table of many: whatever is wrong with it is part of the answer, and no text holds a credential."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec

from explorer.auditing.document import AuditDocument, audit_document
from explorer.auditing.options import AuditOptions
from explorer.core.errors import ExplorerError
from explorer.core.log.log_path import commit_name
from explorer.credentials import concealed, secrets_of
from explorer.storage.served_root import ServedRoot
from explorer.table import Table, open_table


class TableAudit(msgspec.Struct, frozen=True):
    """What became of one table.

    Attributes:
        location: The table's location as it was found below a root.
        document: Its audit as `explorer.auditing.document.audit_document` gives it; None after an error.
        error: Why there is none; its cause is named, and its credentials are not.
        known: The table is still as an earlier audit of this day found it, so its log was not read again.
        state: Which table it is and at which version, as `state_of` says; empty after an error, and where nothing is
            recorded.
    """

    location: str
    document: AuditDocument | None = None
    error: ExplorerError | None = None
    known: bool = False
    state: str = ""


Task: TypeAlias = Callable[[ServedRoot], TableAudit]
"""What audits the table at a place."""


def answer(
    place: ServedRoot,
    *,
    options: AuditOptions,
    now: datetime,
    known: Mapping[str, Container[str]] | None,
) -> TableAudit:
    """Audit one table; whatever is wrong with it is part of the answer.

    Args:
        place: The table.
        options: Additional inputs.
        now: The present, with a zone.
        known: The states in which tables were audited before, by location; None if no audit is recorded, so that no
            request is spent on the state.
    """
    location, secrets = place.place, secrets_of(place.storage_options)
    try:
        table = open_table(location, storage_options=place.storage_options, cache=False)
        state = "" if known is None else state_of(table)
        if known is not None and state in known.get(location, ()):
            return TableAudit(location, known=True, state=state)
        audited = table.audit(now, **msgspec.structs.asdict(options))
        return TableAudit(location, audit_document(audited, table.location), state=state)
    except ExplorerError as error:
        return TableAudit(location, error=_without_secrets(error, secrets))
    except Exception as error:  # noqa: BLE001 - one table, whatever is in it, must not end the audit of the others
        text = concealed(str(error).split("\n", 1)[0], secrets)
        return TableAudit(location, error=fault(location, f"{type(error).__name__}: {text}"))


def state_of(table: Table) -> str:
    """Return which table is at a place and at which version; another table there has another state.

    Of the log only the newest commit is looked at, and not read: its size, its time, and its ETag. If that was cleaned
    up or is not published, the id of the table stands for it.
    """
    version = table.latest_version()
    try:
        newest = table.store.head(commit_name(version))
    except FileNotFoundError:
        return f"{version} {table.snapshot(version).metadata.id}"
    return f"{version} {newest.size} {newest.modified} {newest.etag}"


def fault(location: str, what: str) -> ExplorerError:
    """Return the error of a table that was not audited because of a fault of the program."""
    return ExplorerError(f"{location} was not audited ({what}). This is a bug.", table=location)


def _without_secrets(error: ExplorerError, secrets: Sequence[str]) -> ExplorerError:
    """Return the error as it can travel: without its cause, and without secret options in its texts."""
    texts = {name: text for name, text in vars(error).items() if isinstance(text, str)}
    return error.with_facts(**{name: concealed(text, secrets) for name, text in texts.items()})
