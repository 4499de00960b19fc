"""The overview of a version: one sentence, four key figures with their basis, schema, properties, protocol; for a table
of one version, the facts that its creation set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import StructField, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.snapshot import Snapshot
from explorer.views.problems import Problem
from explorer.views.table.facts import TableFacts

if TYPE_CHECKING:
    from explorer.catalogs.entry import CatalogEntry

_MOST_FIELDS: Final = 400


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number with its unit and its basis (``exact``, ``from statistics``, ``unknown``)."""

    value: str
    label: str
    basis: str


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the schema: dotted logical name, depth of nesting, type, whether null is allowed, its marks."""

    name: str
    depth: int
    type: str
    nullable: bool
    partition: bool
    comment: str


@dataclass(frozen=True, slots=True)
class TopFields:
    """The first columns of a version, of so many."""

    fields: tuple[Field, ...]
    total: int

    @property
    def more(self) -> int:
        """How many are not among them."""
        return self.total - len(self.fields)


@dataclass(frozen=True, slots=True)
class StateTotals:
    """Live files, their bytes, their rows less the masked ones, and the masked ones; None where the log lacks one."""

    files: int
    size: int | None
    rows: int | None
    masked: int


@dataclass(frozen=True, slots=True)
class CatalogCard:
    """What a catalog says of the table: facts by name, and properties that only the catalog has."""

    facts: tuple[tuple[str, str], ...]
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """What the overview of one version shows: of its fields, nested ones too, the first of so many.

    ``alerts`` are what is wrong with its rows; ``catalog`` is None for a table that was opened by its location.
    """

    verdict: str
    alerts: tuple[Problem, ...]
    figures: tuple[KeyFigure, ...]
    fields: tuple[Field, ...]
    num_fields: int
    properties: tuple[tuple[str, str], ...]
    features: tuple[str, ...]
    reader_version: int
    writer_version: int
    description: str
    table_id: str
    created: int | None
    catalog: CatalogCard | None = None


def overview_of(facts: TableFacts, version: int) -> Overview:
    """Gather the overview of a version."""
    snapshot, totals = facts.snapshot(version), totals_of(facts.commits, facts.snapshot(version))
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    return Overview(
        verdict=_verdict(facts, version, totals),
        alerts=facts.alerts(version),
        figures=_figures(snapshot, totals),
        fields=fields_of(snapshot, _MOST_FIELDS),
        num_fields=sum(1 for _ in walk(snapshot.schema)),
        properties=tuple(sorted(snapshot.properties.items())),
        features=tuple(features),
        reader_version=protocol.min_reader_version,
        writer_version=protocol.min_writer_version,
        description=snapshot.metadata.description or "",
        table_id=snapshot.metadata.id,
        created=snapshot.metadata.created_time,
        catalog=None if facts.catalog_entry is None else catalog_card(facts.catalog_entry, snapshot),
    )


def catalog_card(entry: CatalogEntry, snapshot: Snapshot) -> CatalogCard:
    """Gather what a catalog says of a table."""
    commits = "ratified by the catalog" if entry.manages_commits else "ordered by the table's own log"
    facts = {
        "table": entry.address,
        "type": (entry.table_type or "").lower(),
        "owner": entry.owner,
        "comment": entry.comment,
        "commits": commits,
        "created by": entry.created_by,
        "updated by": entry.updated_by,
        "server": entry.server,
    }
    own = snapshot.properties
    others = {key: value for key, value in entry.properties.items() if key not in own and not key.startswith("delta.")}
    return CatalogCard(tuple((name, value) for name, value in facts.items() if value), tuple(sorted(others.items())))


def fields_of(snapshot: Snapshot, most: int | None = None) -> tuple[Field, ...]:
    """Return the fields of a version, nested ones after their parent: the first ones, or all of them."""
    partitions = frozenset(snapshot.partition_columns)
    return tuple(_field(path, field, partitions) for path, field in islice(walk(snapshot.schema), most))


def top_fields(snapshot: Snapshot, most: int) -> TopFields:
    """Return the first columns of a version, without those inside of others."""
    fields, partitions = snapshot.schema.fields, frozenset(snapshot.partition_columns)
    return TopFields(tuple(_field((field.name,), field, partitions) for field in fields[:most]), len(fields))


def _field(path: tuple[str, ...], field: StructField, partitions: frozenset[str]) -> Field:
    return Field(
        name=format_column(path),
        depth=len(path) - 1,
        type=type_name(field.type),
        nullable=field.nullable,
        partition=len(path) == 1 and path[0] in partitions,
        comment=str(field.metadata.get("comment", "")),
    )


def totals_of(commits: Commits, snapshot: Snapshot) -> StateTotals:
    """Return the totals after a version's commit; if that commit is not in the log, those of its snapshot."""
    commit = commits.record(snapshot.version)
    if commit is not None and commit.num_files is not None and commit.num_deleted_rows is not None:
        return StateTotals(commit.num_files, commit.num_bytes, commit.num_rows, commit.num_deleted_rows)
    records, masked = snapshot.num_records, snapshot.num_deleted_records
    return StateTotals(
        snapshot.num_files, snapshot.size_in_bytes, None if records is None else records - masked, masked
    )


def _verdict(facts: TableFacts, version: int, totals: StateTotals) -> str:
    if not totals.files:
        created = "created, no data yet" if version == 0 else "no live files"
        return f"{facts.name} at v{version}: {created}."
    rows = "an unknown number of rows" if totals.rows is None else fmt.plural(totals.rows, "live row")
    hidden = f" ({fmt.count(totals.masked)} more masked)" if totals.masked else ""
    newest = (
        "the newest version"
        if version == facts.last
        else f"{fmt.plural(facts.last - version, 'version')} behind v{facts.last}"
    )
    files = f"{fmt.plural(totals.files, 'file')}, {fmt.size(totals.size)}"
    unread = (column.message for column in facts.snapshot(version).unread_columns)
    return " ".join((f"{rows}{hidden} in {files}. v{version} is {newest}.", *unread))


def _figures(snapshot: Snapshot, totals: StateTotals) -> tuple[KeyFigure, ...]:
    files = totals.files
    mean = None if not files or totals.size is None else totals.size // files
    return (
        KeyFigure(
            fmt.count(totals.rows),
            "live row" if totals.rows == 1 else "live rows",
            "from statistics, less masked"
            if totals.masked
            else "from statistics"
            if totals.rows is not None
            else "not in every file's statistics",
        ),
        KeyFigure(
            fmt.count(files),
            "file" if files == 1 else "files",
            f"exact, {fmt.size(mean)} each on average" if files else "exact",
        ),
        KeyFigure(fmt.size(totals.size), "size", "exact, of the live files"),
        KeyFigure(f"v{snapshot.version}", "version", fmt.day(snapshot.timestamp)),
    )


@dataclass(frozen=True, slots=True)
class OpeningFact:
    """One fact: its name, its value, and a line of detail."""

    name: str
    value: str
    detail: str


def opening_facts(snapshot: Snapshot) -> tuple[OpeningFact, ...]:
    """Return what a table is made of at its only version."""
    protocol, fields = snapshot.protocol, snapshot.schema.fields
    required = sum(not field.nullable for field in fields)
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    clustering = snapshot.clustering_columns
    retention = {name: (entry.text(snapshot.properties) or "").removeprefix("interval ")
            for name, entry in (("files", FILE_RETENTION), ("log", LOG_RETENTION))}  # fmt: skip
    rows = snapshot.num_records
    live = None if rows is None else rows - snapshot.num_deleted_records
    return (
        OpeningFact("columns", fmt.count(len(fields)), f"{required} not null" if required else "all nullable"),
        OpeningFact(
            "protocol",
            f"{protocol.min_reader_version} \u00b7 {protocol.min_writer_version}",
            ", ".join(features) or "no table features",
        ),
        OpeningFact(
            "partitioned by",
            ", ".join(snapshot.partition_columns) or "nothing",
            f"clustered by {', '.join(clustering)}" if clustering else "no clustering",
        ),
        OpeningFact("retention", retention["files"], f"files {retention['files']}, log {retention['log']}"),
        OpeningFact(
            "rows",
            fmt.count(live) if live else "none yet" if live == 0 else "unknown",
            fmt.plural(snapshot.num_files, "file"),
        ),
    )
