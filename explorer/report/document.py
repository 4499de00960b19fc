"""The document of a report: records of what it states, their one form as JSON, and the digest of that form.

Definition, so that others can compute it too: the digest is SHA-256, in lowercase hexadecimal, of the document without
its field ``digest``, as JSON with the keys of every object in the order of their UTF-8 bytes, without space, in UTF-8,
texts with the fewest escapes. A report of several tables holds the whole document of each, with its own digest.

Invariants: a document of another form than these records is refused; times are ISO 8601 text in UTC; a number that is
not known is null.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from explorer.auditing.document import NotAnsweredRule, ReportFinding
from explorer.auditing.finding import Severity
from explorer.core.compatibility.access import Access
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.versions.retention.version_states import VersionState

FORMAT: Final = "delta-explorer-report/1"
Tone: TypeAlias = Literal["plain", "strong", "danger"]
"""How loud a phrase is said."""
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
_Days: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class RuleLine(JsonRecord, frozen=True, kw_only=True):
    """A rule that was checked: its question, and why that matters."""

    id: str
    severity: Severity
    title: str
    meaning: str


class Phrase(JsonRecord, frozen=True, kw_only=True):
    """A part of the sentence that opens the report; ``tone`` is that of what it says."""

    text: str
    tone: Tone = "plain"


class Figures(JsonRecord, frozen=True, kw_only=True):
    """Totals of the newest version, and the span of the history; rows are those a reader sees."""

    rows: int | None
    masked_rows: int | None
    files: int | None
    bytes: int | None
    first_version: int
    first_time: str | None
    last_time: str | None


class HistoryMark(JsonRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What the commits of a bin did: the largest amounts of one commit, so that a bin hides no extreme.

    Rows that a commit updated are none of those that it added, removed or masked; those shown again (``unmasked``) were
    masked before. Where there are none the document says nothing of them, as those written before it could.
    """

    first: _Count
    last: _Count
    added: _Count
    removed: _Count
    masked: _Count
    unmasked: _Count = 0
    updated: _Count = 0
    unknown: bool
    form: bool


class CommitLabel(JsonRecord, frozen=True, kw_only=True):
    """A commit that the drawing names: ``amount`` are the rows (or files) that a reader sees no more."""

    version: _Count
    amount: Annotated[int, msgspec.Meta(le=0)]
    operation: str
    user: str
    time: str | None


class StateLine(JsonRecord, frozen=True, kw_only=True):
    """Successive versions of one state; ``since`` is when the first of them may be, or might have been, lost."""

    first: int
    last: int
    state: VersionState
    since: str | None


class ReportHistory(JsonRecord, frozen=True, kw_only=True):
    """The commits as marks, oldest first, each of ``width`` versions; amounts in ``unit``."""

    first: _Count
    last: _Count
    width: _Positive
    unit: Literal["rows", "files"]
    marks: tuple[HistoryMark, ...]
    labels: tuple[CommitLabel, ...]
    states: tuple[StateLine, ...]
    files_checked: bool


class ClientLine(JsonRecord, frozen=True, kw_only=True):
    """What a client can do: one in use at its version, any other in its newest known release.

    ``in_use`` is true of named clients and of the writers in the history, of which ``seen`` is true
    too; ``version_from`` is the version from which the facts hold, null if nothing is known of it.
    """

    client: str
    version: str | None
    version_from: str | None
    read: Access
    write: Access
    because: tuple[str, ...]
    source: str
    as_of: str
    in_use: bool
    seen: bool
    owner: str
    note: str


class RetentionStep(JsonRecord, frozen=True, kw_only=True):
    """With so many days of retention a VACUUM now leaves so many versions readable, and frees so many bytes."""

    days: _Days
    versions: _Count
    bytes: _Count


class Retention(JsonRecord, frozen=True, kw_only=True):
    """How many versions each retention of removed files leaves readable, if VACUUM runs at the time of the report.

    ``file_days`` and ``log_days`` are the properties in force, the latter null where expired log files are kept;
    ``kept`` versions are left by the retention in force, ``files`` and ``bytes`` are what VACUUM then frees. ``basis``
    is ``log``, or ``folder`` where it was listed.
    """

    file_days: _Days
    log_days: _Days | None
    readable: int
    at_risk: int
    gone: int
    kept: _Count
    files: _Count
    bytes: _Count
    basis: Literal["log", "folder"]
    steps: tuple[RetentionStep, ...]


class TableChange(JsonRecord, frozen=True, kw_only=True):
    """A commit that changed schema, protocol, properties or a description: who, when, by what, why, and what."""

    version: int
    time: str | None
    user: str
    engine: str
    operation: str
    reason: str
    changes: tuple[str, ...]


class ReportedMaintenance(JsonRecord, frozen=True, kw_only=True):
    """What was done to the files of the table; see `explorer.core.maintenance.journal.MaintenanceEntry`."""

    time: str
    kind: str
    user: str | None
    reason: str | None
    outcome: str
    version: int
    recorded_in: tuple[int, ...]
    digest: str | None
    num_deleted: int | None
    bytes_deleted: int | None
    source: str


class LogCheck(JsonRecord, frozen=True, kw_only=True):
    """The result of verifying the log; see `explorer.core.log.verify`."""

    first_version: int | None
    last_version: int
    problems: tuple[str, ...]
    chain_head: str | None


class SinceLine(JsonRecord, frozen=True, kw_only=True):
    """A finding in the comparison; ``was`` is its claim in the earlier report where that differs."""

    id: str
    subject: str
    title: str
    was: str | None = None


class Since(JsonRecord, frozen=True, kw_only=True):
    """A comparison with an earlier report of the same table: ``versions`` are those made since; ``went_back`` is true
    where the earlier report is of a later version.
    """

    time: str
    version: int
    digest: str
    new: tuple[SinceLine, ...]
    gone: tuple[SinceLine, ...]
    unchanged: tuple[SinceLine, ...]
    versions: int
    went_back: bool


class PinFact(JsonRecord, frozen=True, kw_only=True):
    """What the log says of a pin: a name and a text."""

    name: str
    text: str


class Pin(JsonRecord, frozen=True, kw_only=True):
    """A pin of the case file, and what the log says of it now; ``problem`` where it no longer holds."""

    kind: str
    what: str
    note: str
    pinned: str | None
    holds: bool
    problem: str | None
    facts: tuple[PinFact, ...]


class Case(JsonRecord, frozen=True, kw_only=True):
    """A case file: its title, author and notes, and the pins that concern the table."""

    title: str
    author: str
    notes: str
    pins: tuple[Pin, ...]


class Signer(JsonRecord, frozen=True, kw_only=True):
    """The key that signs the report: its fingerprint as ``ssh-keygen -l`` shows it, and the comment in the key."""

    fingerprint: str
    comment: str


class MissingPart(JsonRecord, frozen=True, kw_only=True):
    """A part of the report that could not be made, and why."""

    part: str
    reason: str


class TableReport(JsonRecord, frozen=True, kw_only=True, tag_field="kind", tag="table"):
    """The report of one table."""

    format: str = FORMAT
    program: str
    title: str
    table: str
    table_id: str | None
    version: int
    time: str
    by: str | None
    basis: str
    verdict: str
    sentence: tuple[Phrase, ...]
    deadline: str | None
    findings: tuple[ReportFinding, ...]
    not_answered: tuple[NotAnsweredRule, ...]
    found_nothing: tuple[str, ...]
    rules: tuple[RuleLine, ...]
    figures: Figures | None
    history: ReportHistory | None
    clients: tuple[ClientLine, ...] | None
    retention: Retention | None
    changes: tuple[TableChange, ...] | None
    changes_left_out: int
    log: LogCheck | None
    missing: tuple[MissingPart, ...]
    since: Since | None
    case: Case | None
    signer: Signer | None
    maintenance: tuple[ReportedMaintenance, ...] | msgspec.UnsetType = msgspec.UNSET
    digest: str = ""

    def __repr__(self) -> str:
        return f"TableReport({self.title!r}, version={self.version}, findings={[each.id for each in self.findings]})"


class Unread(JsonRecord, frozen=True, kw_only=True):
    """A table that could not be read, and the error."""

    table: str
    error: str
    message: str


class TablesReport(JsonRecord, frozen=True, kw_only=True, tag_field="kind", tag="tables"):
    """The report of several tables: the worst first, then those that could not be read."""

    format: str = FORMAT
    program: str
    title: str
    time: str
    by: str | None
    tables: tuple[TableReport, ...]
    unread: tuple[Unread, ...]
    signer: Signer | None
    digest: str = ""


def title_of(location: str) -> str:
    """Return the last folders of a location as a readable path."""
    return " / ".join([part for part in location.rstrip("/").split("/") if part][-3:]) or location
