"""The overview of a version: one sentence, four key figures with their basis, schema, properties and protocol."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.versions.snapshot import Snapshot
from explorer.views.table.facts import TableFacts

__all__ = ["Field", "KeyFigure", "Overview", "overview_of"]


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
class Overview:
    """What the overview of one version shows."""

    verdict: str
    figures: tuple[KeyFigure, ...]
    fields: tuple[Field, ...]
    properties: tuple[tuple[str, str], ...]
    features: tuple[str, ...]
    reader_version: int
    writer_version: int
    description: str
    table_id: str
    created: int | None


def overview_of(facts: TableFacts, version: int) -> Overview:
    """Gather the overview of a version."""
    snapshot = facts.snapshot(version)
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    return Overview(
        verdict=_verdict(facts, snapshot),
        figures=_figures(snapshot),
        fields=fields_of(snapshot.schema, snapshot.partition_columns),
        properties=tuple(sorted(snapshot.properties.items())),
        features=tuple(features),
        reader_version=protocol.min_reader_version,
        writer_version=protocol.min_writer_version,
        description=snapshot.metadata.description or "",
        table_id=snapshot.metadata.id,
        created=snapshot.metadata.created_time,
    )


def fields_of(schema: StructType, partition_columns: tuple[str, ...]) -> tuple[Field, ...]:
    """Return every field of a schema, nested ones after their parent."""
    return tuple(
        Field(
            name=format_column(path),
            depth=len(path) - 1,
            type=type_name(field.type),
            nullable=field.nullable,
            partition=len(path) == 1 and path[0] in partition_columns,
            comment=str(field.metadata.get("comment", "")),
        )
        for path, field in walk(schema)
    )


def _verdict(facts: TableFacts, snapshot: Snapshot) -> str:
    if not snapshot.num_files:
        created = "created, no data yet" if snapshot.version == 0 else "no live files"
        return f"{facts.name} at v{snapshot.version}: {created}."
    records, masked = snapshot.num_records, snapshot.num_deleted_records
    rows = "an unknown number of rows" if records is None else fmt.plural(records - masked, "live row")
    hidden = f" ({fmt.count(masked)} more masked)" if masked else ""
    newest = (
        "the newest version"
        if snapshot.version == facts.last
        else f"{fmt.plural(facts.last - snapshot.version, 'version')} behind v{facts.last}"
    )
    files = f"{fmt.plural(snapshot.num_files, 'file')}, {fmt.size(snapshot.size_in_bytes)}"
    return f"{rows}{hidden} in {files}. v{snapshot.version} is {newest}."


def _figures(snapshot: Snapshot) -> tuple[KeyFigure, ...]:
    records, masked, files = snapshot.num_records, snapshot.num_deleted_records, snapshot.num_files
    live = None if records is None else records - masked
    mean = None if not files or snapshot.size_in_bytes is None else snapshot.size_in_bytes // files
    return (
        KeyFigure(
            fmt.count(live),
            "live rows",
            "from statistics, less masked"
            if masked
            else "from statistics"
            if live is not None
            else "not in every file's statistics",
        ),
        KeyFigure(
            fmt.count(files),
            "file" if files == 1 else "files",
            f"exact, {fmt.size(mean)} each on average" if files else "exact",
        ),
        KeyFigure(fmt.size(snapshot.size_in_bytes), "size", "exact, of the live files"),
        KeyFigure(f"v{snapshot.version}", "version", fmt.day(snapshot.timestamp)),
    )
