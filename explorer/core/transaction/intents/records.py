"""Requested changes as records: one kind for each change, without a word on how it is made.

Protocol section: Requirements for Writers. Invariants: an intent is plain data
(`explorer.core.transaction.intents.documents` reads
it from JSON); names of columns are dotted paths whose parts are in backticks where needed.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import JsonObject


def _tag(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class _Intent(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    tag=_tag,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What all intents share: the field ``kind`` that distinguishes them."""

    def check(self) -> None:
        """Check what the types of the fields cannot say.

                Raises:
        InvalidIntent: The intent is empty, or contradicts itself.
        """


def _demand(items: Sized, field: str) -> None:
    if not len(items):
        raise InvalidIntent(f"The field {field} is empty. Give at least one value.", field=field)


def check_batch(app_id: str, version: int, app_field: str, version_field: str) -> None:
    """Check what names a batch of an application.

    Raises:
        InvalidIntent: The application's name is empty, or the version does not fit into 64 bits.
    """
    if not app_id:
        raise InvalidIntent("The application needs a name.", field=app_field)
    if not -(2**63) <= version < 2**63:
        raise InvalidIntent("The version is not a 64-bit integer.", field=version_field, found=version)


class CreateTable(_Intent, frozen=True, kw_only=True):
    """Make a new table, empty or with the rows of a Parquet or CSV file or folder.

    ``schema`` is a struct as in schemaString; with ``source`` it may be left out and is that of the rows. ``location``
    is for a name in a catalog: where the files will be; without it the catalog chooses the place and manages the
    commits.
    """

    schema: JsonObject | None = None
    source: str | None = None
    location: str | None = None
    partition_columns: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    name: str | None = None
    description: str | None = None


class SetProperties(_Intent, frozen=True, kw_only=True):
    """Set table properties; what a property switches on comes with it."""

    properties: dict[str, str]

    def check(self) -> None:
        _demand(self.properties, "properties")


class UnsetProperties(_Intent, frozen=True, kw_only=True):
    """Remove table properties."""

    keys: tuple[str, ...]

    def check(self) -> None:
        _demand(self.keys, "keys")


class SetDescription(_Intent, frozen=True, kw_only=True):
    """Set the table's description; null removes it."""

    description: str | None


class SetColumnComment(_Intent, frozen=True, kw_only=True):
    """Set the comment of a column; null removes it."""

    column: str
    comment: str | None


class AddConstraint(_Intent, frozen=True, kw_only=True):
    """Add a CHECK constraint that all rows must satisfy."""

    name: str
    expression: str


class DropConstraint(_Intent, frozen=True, kw_only=True):
    """Drop a CHECK constraint."""

    name: str


class SetNotNull(_Intent, frozen=True, kw_only=True):
    """Refuse nulls in a column from now on."""

    column: str


class DropNotNull(_Intent, frozen=True, kw_only=True):
    """Allow nulls in a column."""

    column: str


class AddColumns(_Intent, frozen=True, kw_only=True):
    """Add columns: struct fields as in schemaString, a nested one with a dotted name.

    ``at`` is ``first``, ``last``, ``after NAME`` or a position from 0; left out, they come last.
    """

    fields: tuple[JsonObject, ...]
    at: str | int | None = None

    def check(self) -> None:
        _demand(self.fields, "fields")


class RenameColumn(_Intent, frozen=True, kw_only=True):
    """Give a column another name; ``to`` is the last part alone."""

    column: str
    to: str


class DropColumns(_Intent, frozen=True, kw_only=True):
    """Drop columns from the schema; files keep their bytes."""

    columns: tuple[str, ...]

    def check(self) -> None:
        _demand(self.columns, "columns")


class MoveColumn(_Intent, frozen=True, kw_only=True):
    """Move a column among its siblings; ``at`` as in `AddColumns`."""

    column: str
    at: str | int


class WidenType(_Intent, frozen=True, kw_only=True):
    """Change a column to a wider type."""

    column: str
    type: str


class SetColumnMapping(_Intent, frozen=True, kw_only=True):
    """Switch column mapping to ``name``, ``id`` or ``none``."""

    mode: str


class UpgradeProtocol(_Intent, frozen=True, kw_only=True):
    """Raise the protocol versions."""

    min_reader_version: int
    min_writer_version: int


class EnableFeature(_Intent, frozen=True, kw_only=True):
    """Add a table feature, and set the property that switches it on where there is one."""

    feature: str


class DropFeature(_Intent, frozen=True, kw_only=True):
    """Remove a table feature from the protocol, once nothing uses it."""

    feature: str


class SetDomain(_Intent, frozen=True, kw_only=True):
    """Set the configuration of a metadata domain."""

    domain: str
    configuration: str


class RemoveDomain(_Intent, frozen=True, kw_only=True):
    """Remove a metadata domain."""

    domain: str


class SetTransaction(_Intent, frozen=True, kw_only=True):
    """Record how far an application has written."""

    app_id: str
    version: int


class SyncIdentity(_Intent, frozen=True, kw_only=True):
    """Move an identity column's high-water mark to the values in the table."""

    column: str


class Restore(_Intent, frozen=True, kw_only=True):
    """Restore the table to a version, or to a time (ISO 8601 with a zone)."""

    version: int | None = None
    timestamp: str | None = None

    def check(self) -> None:
        if (self.version is None) == (self.timestamp is None):
            raise InvalidIntent(
                "Restore to a version or to a timestamp: give one of the two.",
                field="version",
                allowed=["version", "timestamp"],
            )


class Checkpoint(_Intent, frozen=True, kw_only=True):
    """Write a checkpoint of the newest version."""


class CompactLog(_Intent, frozen=True, kw_only=True):
    """Write a log compaction of the commits from one version to another, both included."""

    from_: int = msgspec.field(name="from")
    to: int


class CleanLog(_Intent, frozen=True, kw_only=True):
    """Delete log files that are older than an interval (``interval 30 days``) or a time, as far as that is safe."""

    older_than: str | None = None


class Vacuum(_Intent, frozen=True, kw_only=True):
    """Delete files that nothing has needed for an interval (``interval 7 days``) or since a time."""

    older_than: str | None = None


class BatchIntent(_Intent, frozen=True, kw_only=True):
    """What the intents share that change rows as a batch of an application: which one it is.

    With ``txnAppId`` and ``txnVersion`` the commit records that the application has written this batch, and one that is
    recorded already is not written again. Versions of an application rise from batch to batch.
    """

    txn_app_id: str | None = None
    txn_version: int | None = None

    def check(self) -> None:
        if (self.txn_app_id is None) != (self.txn_version is None):
            missing = "txnAppId" if self.txn_app_id is None else "txnVersion"
            raise InvalidIntent(
                f"A batch is known by the application and its version: give {missing} too.",
                field=missing,
                allowed=["txnAppId", "txnVersion"],
            )
        if self.txn_app_id is not None and self.txn_version is not None:
            check_batch(self.txn_app_id, self.txn_version, "txnAppId", "txnVersion")


class Append(BatchIntent, frozen=True, kw_only=True):
    """Append the rows of a Parquet or CSV file or folder.

    With ``mergeSchema`` columns that the table lacks are added to it.
    """

    source: str
    merge_schema: bool = False


class Delete(BatchIntent, frozen=True, kw_only=True):
    """Delete the rows for which a predicate is true."""

    where: str


class Purge(_Intent, frozen=True, kw_only=True):
    """Rewrite files without the rows they mask and the columns that the table has dropped.

    With ``where`` only those with a masked row that meets it; for dropped columns, those with any row that meets it.
    """

    where: str | None = None


class Update(BatchIntent, frozen=True, kw_only=True):
    """Change the rows for which a predicate is true, or all rows: columns to SQL expressions over the row."""

    set: dict[str, str]
    where: str | None = None

    def check(self) -> None:
        super().check()
        _demand(self.set, "set")


class Overwrite(BatchIntent, frozen=True, kw_only=True):
    """Replace rows by those of a Parquet or CSV file or folder.

    All rows go, or those for which ``where`` is true (the new rows must meet it too), or with ``partitions`` those of
    the partitions that the new rows are in. With ``mergeSchema`` columns that the table lacks are added to it.
    """

    source: str
    where: str | None = None
    partitions: bool = False
    merge_schema: bool = False

    def check(self) -> None:
        super().check()
        if self.where is not None and self.partitions:
            raise InvalidIntent(
                "Overwrite by a condition or by partitions: give one of the two.",
                field="where",
                allowed=["where", "partitions"],
            )


class Merge(BatchIntent, frozen=True, kw_only=True):
    """Change rows by those of a Parquet or CSV file or folder, matched by a condition over ``target`` and ``source``.

    A clause is an object: ``when``, a further condition or left out, and what is done: ``update`` (columns to
    expressions, or ``"*"``), ``delete`` (true) or ``insert`` (as update). The first
    clause that applies to a row decides. With ``mergeSchema`` columns that the table lacks are added to it where a
    clause takes all columns of the source.
    """

    source: str
    on: str
    matched: tuple[JsonObject, ...] = ()
    not_matched: tuple[JsonObject, ...] = ()
    not_matched_by_source: tuple[JsonObject, ...] = ()
    merge_schema: bool = False

    def check(self) -> None:
        super().check()
        if not (self.matched or self.not_matched or self.not_matched_by_source):
            raise InvalidIntent(
                "The merge has no clauses. Add at least one for matched or unmatched rows.", field="matched"
            )
        merge_clauses(self)


class Optimize(_Intent, frozen=True, kw_only=True):
    """Rewrite small files and files with masked rows into larger ones; no row changes.

    ``where`` is a condition over partition columns; ``targetSize`` is in bytes. ``orderBy`` sorts rows by columns,
    ``zOrderBy`` along a curve through them; a clustered table is ordered by its clustering columns.
    """

    where: str | None = None
    target_size: int | None = None
    order_by: tuple[str, ...] = ()
    z_order_by: tuple[str, ...] = ()

    def check(self) -> None:
        if self.order_by and self.z_order_by:
            raise InvalidIntent(
                "Order by columns or along a curve: give one of the two.",
                field="orderBy",
                allowed=["orderBy", "zOrderBy"],
            )
        if self.target_size is not None and self.target_size < 1:
            raise InvalidIntent(
                f"The size of files must be at least one byte, not {self.target_size}.", field="targetSize"
            )


class RecomputeStatistics(_Intent, frozen=True, kw_only=True):
    """Work out the statistics of files from their live rows again; no file is rewritten.

    ``columns`` are described whatever the properties say and others keep what they have; without them it is the columns
    that the table's properties ask for. ``where`` is a condition over partition columns.
    """

    columns: tuple[str, ...] = ()
    where: str | None = None


class MergeClause(msgspec.Struct, frozen=True):
    """One clause of a merge.

    Attributes:
        group: ``matched``, ``notMatched`` or ``notMatchedBySource``.
        when: A further condition; None if there is none.
        action: ``update``, ``delete`` or ``insert``.
        values: An expression for each column; None takes all columns of the source.
    """

    group: str
    when: str | None
    action: str
    values: dict[str, str] | None


_ACTIONS: Final = {
    "matched": ("update", "delete"),
    "notMatched": ("insert",),
    "notMatchedBySource": ("update", "delete"),
}


def merge_clauses(intent: Merge) -> tuple[MergeClause, ...]:
    """Return the clauses of a merge, in the order in which they are tried.

    Raises:
        InvalidIntent: One of them is empty, has two actions, or one that its group does not allow.
    """
    groups = zip(_ACTIONS, (intent.matched, intent.not_matched, intent.not_matched_by_source), strict=True)
    return tuple(_clause(group, place, clause) for group, clauses in groups for place, clause in enumerate(clauses))


def _clause(group: str, place: int, clause: JsonObject) -> MergeClause:
    name, actions = f"{group}[{place}]", _ACTIONS[group]
    given = [key for key in clause if key != "when"]
    when = clause.get("when")
    if len(given) != 1 or given[0] not in actions or not isinstance(when, str | None):
        raise InvalidIntent(
            f"The clause {name} must have one of {', '.join(actions)}, and may have when, a condition as text.",
            field=name,
            allowed=[*actions, "when"],
        )
    action = given[0]
    match action, clause[action]:
        case "delete", True:
            return MergeClause(group, when, action, {})
        case "update" | "insert", "*" if group != "notMatchedBySource":
            return MergeClause(group, when, action, None)
        case "update" | "insert", dict(values) if values and all(isinstance(text, str) for text in values.values()):
            return MergeClause(group, when, action, {name: str(text) for name, text in values.items()})
        case _:
            wanted = "true" if action == "delete" else 'an object of columns and SQL expressions, or "*"'
            raise InvalidIntent(f"The field {action} of the clause {name} must be {wanted}.", field=name)


MaintenanceIntent = Checkpoint | CompactLog | CleanLog | Vacuum
"""Intents that write no commit."""

Intent = (
    CreateTable
    | SetProperties
    | UnsetProperties
    | SetDescription
    | SetColumnComment
    | AddConstraint
    | DropConstraint
    | SetNotNull
    | DropNotNull
    | AddColumns
    | RenameColumn
    | DropColumns
    | MoveColumn
    | WidenType
    | SetColumnMapping
    | UpgradeProtocol
    | EnableFeature
    | DropFeature
    | SetDomain
    | RemoveDomain
    | SetTransaction
    | SyncIdentity
    | Restore
    | Append
    | Delete
    | Purge
    | Update
    | Overwrite
    | Merge
    | Optimize
    | RecomputeStatistics
    | MaintenanceIntent
)
