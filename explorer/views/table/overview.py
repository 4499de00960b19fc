"""The overview of a version: one sentence, four key figures with their basis, and findings that were computed.

A finding is stated only with its evidence; what was not measured is not mentioned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.versions.snapshot import Snapshot
from explorer.views.table.facts import TableFacts

__all__ = ["Field", "Finding", "KeyFigure", "Overview", "overview_of"]

_SMALL = 1_000_000
_SHARE = 0.30


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number with its unit and its basis (``exact``, ``from statistics``, ``unknown``)."""

    value: str
    label: str
    basis: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know: what, the evidence, the effect, and the tab that shows it."""

    severity: str
    title: str
    evidence: str
    effect: str
    tab: str


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
    findings: tuple[Finding, ...]
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
        findings=facts.keep(("findings", version), lambda: findings_of(facts, version)),
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


def findings_of(facts: TableFacts, version: int) -> tuple[Finding, ...]:
    """Return what the log itself proves, the most serious first."""
    files = facts.snapshot(version).files()
    if facts.problem is not None:
        return ()
    found = [*_hazards(facts, version), *_masked(files), *_uncounted(files), *_small(files), *_cleaned(facts)]
    order = {"danger": 0, "warning": 1, "info": 2}
    return tuple(sorted(found, key=lambda finding: order[finding.severity]))


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


def _hazards(facts: TableFacts, version: int) -> list[Finding]:
    hazards = [hazard for hazard in facts.lineage().hazards if hazard.version <= version]
    if not hazards:
        return []
    names = sorted({hazard.name for hazard in hazards})
    title = (
        f"The name {names[0]} moved to another column"
        if len(names) == 1
        else f"{len(names)} names moved to other columns"
    )
    evidence = ", ".join(f"{fmt.shorten(hazard.name, 40)} at v{hazard.version}" for hazard in hazards[:4])
    more = f" and {len(hazards) - 4} more" if len(hazards) > 4 else ""
    effect = "A client that ignores column mapping reads one column's values under the other's name."
    return [Finding("warning", title, evidence + more, effect, "columns")]


def _masked(files: pa.Table) -> list[Finding]:
    cardinality = files.column("dv_cardinality").cast(pa.float64()).to_numpy(zero_copy_only=False)
    records = files.column("num_records").cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        heavy = int(np.sum(cardinality / records > _SHARE))
    if not heavy:
        return []
    effect = "Each read of such a file decodes rows that it then drops; a purge rewrites them."
    return [
        Finding(
            "warning",
            f"{fmt.plural(heavy, 'file')} with more than 30 % of the rows masked",
            f"of {files.num_rows} live files",
            effect,
            "deletion-vectors",
        )
    ]


def _uncounted(files: pa.Table) -> list[Finding]:
    missing = files.column("num_records").null_count
    if not missing:
        return []
    effect = "The table's row count is unknown, and queries cannot skip these files."
    return [
        Finding(
            "info",
            f"{fmt.plural(missing, 'file')} without a row count",
            f"of {files.num_rows} live files",
            effect,
            "files",
        )
    ]


def _small(files: pa.Table) -> list[Finding]:
    small = pc.sum(pc.less(files.column("size"), _SMALL)).as_py() or 0
    if small < 20 or small * 2 < files.num_rows:
        return []
    effect = "A query opens each of them; compaction would leave fewer, larger ones."
    return [
        Finding(
            "info", f"{fmt.plural(small, 'file')} smaller than 1 MB", f"of {files.num_rows} live files", effect, "files"
        )
    ]


def _cleaned(facts: TableFacts) -> list[Finding]:
    if not facts.first:
        return []
    evidence = f"v0 to v{facts.first - 1}" if facts.first > 1 else "v0"
    return [
        Finding(
            "info",
            "Early history was cleaned from the log",
            evidence,
            f"The oldest version that can be shown is v{facts.first}.",
            "overview",
        )
    ]
