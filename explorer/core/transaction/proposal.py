"""The effect of an intent on the table: the new metadata, protocol and files, before anything is judged or written.

Protocol section: Requirements for Writers. Invariants: a proposal is a value, made from a snapshot, an intent, a time
and fresh identifiers alone; it states what it relied on, so that a commit in between can be judged
(LOG-023); it never holds two actions that reconcile with each other (LOG-018, LOG-019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from explorer.core.protocol.actions import (
    Action,
    Add,
    AddCDCFile,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    TransactionAction,
)
from explorer.core.protocol.json_values import JsonObject
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

GuardStatus = Literal["pass", "warn", "fail", "unknown"]
SOURCE_UNCHANGED: Final = "source-unchanged"
"""The guard that fails where the source of rows was changed between the plan and its commit; a new plan is needed."""
GRAVEST_FIRST: Final[tuple[GuardStatus, ...]] = ("fail", "unknown", "warn", "pass")
"""The order in which guards are shown: what blocks a commit comes first."""


class Circumstances(msgspec.Struct, frozen=True):
    """What a proposal gets from outside.

    Attributes:
        now: The present in ms since the epoch.
        new_id: Gives a fresh UUID as text at each call.
        unknown: Gives what the live files of a version record beyond its columns of files, for actions that are written
            again; see `explorer.core.transaction.new_files.file_actions.adds`.
    """

    now: int
    new_id: Callable[[], str]
    unknown: Callable[[Snapshot], Mapping[tuple[str, str | None], JsonObject]] = lambda _: {}


class GuardResult(msgspec.Struct, frozen=True):
    """One precondition of a commit, judged.

    Attributes:
        name: Name of the guard, in kebab case.
        status: ``pass``; ``warn`` (may be committed, read it first); ``fail``; ``unknown`` (could not be evaluated,
            blocks unless it is accepted by name).
        evidence: The facts behind it: values, files, rows, versions; JSON-able, with a ``detail`` in words.
        remedy: What to do about it; None where there is nothing to do.
        acceptable: True if it failed and blocks unless it is accepted by name, as an unknown guard does; left out
            otherwise.
    """

    name: str
    status: GuardStatus
    evidence: Mapping[str, object]
    remedy: str | None = None
    acceptable: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def waits_for_acceptance(self) -> bool:
        """True if it blocks until a person accepts it by name."""
        return self.status == "unknown" or (self.status == "fail" and self.acceptable is True)


class RowCheck(msgspec.Struct, frozen=True):
    """A predicate that must be TRUE for every live row, or the commit may not be made.

    Attributes:
        guard: Name of the guard that it decides.
        name: Name of the predicate in the report.
        expression: SQL over logical column names of the version read.
        remedy: What to do when rows break it.
        null_remedy: What else may be done where it is NULL for one of these rows.
        unseen: What to add where no engine evaluated it.
    """

    guard: str
    name: str
    expression: str
    remedy: str
    unseen: str = ""
    null_remedy: str = ""


class StagedFile(msgspec.Struct, frozen=True):
    """A file that must exist before the commit may be written.

    Attributes:
        path: Its key under the table's root, not percent-encoded.
        data: Its bytes.
    """

    path: str
    data: bytes


class Estimate(msgspec.Struct, frozen=True):
    """What a commit will write that only its writing decides; None where it cannot be estimated.

    Attributes:
        rows: Rows of new data files.
        files: New data files.
        bytes: Their size.
    """

    rows: int | None = None
    files: int | None = None
    bytes: int | None = None


class SourceContent(msgspec.Struct, frozen=True):
    """What a source of rows contains, byte for byte: two sources with one digest give the same rows.

    Attributes:
        files: How many files it has.
        bytes: Their size.
        sha256: That of the file; of a folder, that of what ``sha256sum`` prints of its files, by their paths in it, in
            the order of these.
    """

    files: int
    bytes: int
    sha256: str


class Written(msgspec.Struct, frozen=True):
    """Files that the engine wrote for a commit; no version names them yet.

    Attributes:
        adds: The actions that add data files, without row ids.
        changes: The actions of change files.
        rows: Rows of the data files.
        marks: The furthest value given in each identity column that was numbered.
        guards: The rules that rows in these files break; each blocks the commit.
    """

    adds: tuple[Add, ...]
    changes: tuple[AddCDCFile, ...] = ()
    rows: int = 0
    marks: Mapping[str, int] = {}
    guards: tuple[GuardResult, ...] = ()


class RowCounts(msgspec.Struct, frozen=True):
    """How many rows a change touches.

    Attributes:
        updated, deleted: Rows of the table that matched the source, or the condition of an update.
        updated_alone, deleted_alone: Rows of the table that no row of the source matches.
        inserted: New rows.
        source: Rows of the source; None where there is none.
    """

    updated: int = 0
    deleted: int = 0
    updated_alone: int = 0
    deleted_alone: int = 0
    inserted: int = 0
    source: int | None = None

    @property
    def new(self) -> int:
        """Rows that the commit writes because they changed."""
        return self.updated + self.updated_alone + self.inserted

    @property
    def all(self) -> int:
        """Rows that change."""
        return self.new + self.deleted + self.deleted_alone


class Writing(msgspec.Struct, frozen=True):
    """What is left to do when a proposal is committed: the engine writes files, and then its actions are known.

    Attributes:
        write: Writes the files, under new names at each call. Proposals with the same function need the same files, so
            that a commit that goes on top of another one writes them once.
        complete: Gives the proposal with the actions of the files.
    """

    write: Callable[[], Written]
    complete: Callable[[Written], Proposal]


class RecordedBatch(msgspec.Struct, frozen=True):
    """A batch of an application that the table holds.

    Attributes:
        app_id: The application.
        batch: The version that the application gave the batch.
        newest: The newest batch of the application that the table holds, not older than this one.
        version: The version of the table that wrote this batch; None if the log does not show it any more.
    """

    app_id: str
    batch: int
    newest: int
    version: int | None

    @property
    def detail(self) -> str:
        """The same in words."""
        where = (
            f"Version {self.version} wrote"
            if self.version is not None
            else f"The application is at {self.newest}, so the table holds"
        )
        return f"{where} batch {self.batch} of the application {self.app_id!r}; it was not written again."


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of an intent on one version of the table.

    Attributes:
        operation, parameters: As the reference writer names them in commitInfo; values keep their JSON types.
        metadata, protocol: The new ones; None where they do not change.
        transactions, domains: Set by the commit.
        adds, removes, change_files: File actions in the order to be written.
        metrics: ``operationMetrics``, values as text.
        tags: ``tags`` of commitInfo.
        is_blind_append: True if no row or file of the table was read to make it.
        isolation: ``SnapshotIsolation`` for a commit that leaves all rows as they are, else ``Serializable``; the table
            may ask for less, see `explorer.core.transaction.commit_info.isolation_level`.
        reads_files: True if it depends on which files are live.
        reads: On which of them.
        read_applications: Applications on whose transaction version it depends.
        row_checks: What all live rows must satisfy.
        required_paths: Decoded locations of files outside the present version that must still exist.
        staged: Files to write first.
        writing: Files that the engine writes first; without their actions as long as it is there.
        source: Reads what the source of its rows contains, which takes as long as reading all of it; None where its
            rows come from no file. It raises `RequestError` if the source is not as the rows were planned from, or
            cannot be read here.
        estimate: How much that will be; None where nothing is left to write.
        recorded: The batch that it would write, as far as the table has recorded it already: then nothing is written.
        guards: Preconditions that the intent itself judged.
        change_feed: What the commit does to the change data feed, in words; None if nothing is special.
        time_travel: What it does to the versions that can be read, in words; None if nothing is special.
        undo: How the commit can be undone, in words.
        only_provenance: True if it is meant to hold nothing but provenance, as the commits around a VACUUM do.
    """

    operation: str
    parameters: JsonObject
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    transactions: tuple[TransactionAction, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()
    adds: tuple[Add, ...] = ()
    removes: tuple[Remove, ...] = ()
    change_files: tuple[AddCDCFile, ...] = ()
    metrics: dict[str, str] = {}
    tags: dict[str, str] = {}
    is_blind_append: bool = True
    isolation: str = "Serializable"
    reads_files: bool = False
    reads: Reads = Reads()
    read_applications: tuple[str, ...] = ()
    row_checks: tuple[RowCheck, ...] = ()
    required_paths: tuple[str, ...] = ()
    staged: tuple[StagedFile, ...] = ()
    writing: Writing | None = None
    source: Callable[[], SourceContent] | None = None
    estimate: Estimate | None = None
    recorded: RecordedBatch | None = None
    guards: tuple[GuardResult, ...] = ()
    change_feed: str | None = None
    time_travel: str | None = None
    undo: str = ""
    only_provenance: bool = False

    def actions(self) -> tuple[Action, ...]:
        """Return the actions without commitInfo, the protocol before the metadata that depends on it (WRITER-006)."""
        small = [action for action in (self.protocol, self.metadata) if action is not None]
        return (*small, *self.transactions, *self.adds, *self.removes, *self.change_files, *self.domains)
