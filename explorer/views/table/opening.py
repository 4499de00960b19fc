"""A table of one version: there is no history to draw, so the facts that its creation set."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION
from explorer.core.versions.snapshot import Snapshot

__all__ = ["OpeningFact", "opening_facts"]


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
