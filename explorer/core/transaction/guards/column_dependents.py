"""What depends on a column and would break if it were renamed, dropped or retyped.

Protocol sections: CHECK Constraints, Generated Columns, Column Invariants, Clustered Table, Column Mapping. Invariants:
a column that an expression may mention is not changed (CM-013, CONSTR-012); partition and clustering columns
are not dropped; a guard that cannot be judged is unknown and never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, GENERATION_EXPRESSION, INVARIANTS
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.schema.path_sets import PathSet
from explorer.core.protocol.sql.stored_expressions import Mentioned, Mentions
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.snapshot import Snapshot

__all__ = [
    "char_guard",
    "clustering_guard",
    "constraint_guard",
    "generated_guard",
    "mapping_guard",
    "partition_guard",
]


Path = tuple[str, ...]


def mapping_guard(snapshot: Snapshot) -> GuardResult:
    """Renames and drops need columns that have names of their own in the files (CM-013)."""
    mode = snapshot.column_mapping_mode
    evidence: dict[str, object] = {COLUMN_MAPPING_MODE.key: mode}
    if mode != "none":
        return _passed("column-mapping", evidence, "Data files use physical column names that do not change.")
    detail = "Without column mapping the files know the columns by these names."
    return GuardResult(
        "column-mapping",
        "fail",
        evidence | {"detail": detail},
        "Switch column mapping to name first (set-column-mapping); clients must then be able to read it.",
    )


def constraint_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """CHECK constraints and column invariants that may mention one of the columns (CONSTR-012)."""
    rules = {f"constraint {name}": text for name, text in constraints(snapshot.metadata.configuration).items()}
    gone = PathSet(paths)
    for path, field in walk(snapshot.schema):
        if INVARIANTS in field.metadata and not gone.surrounds(path):
            rules[f"invariant of {format_column(path)}"] = _invariant_text(field.metadata[INVARIANTS])
    words = _Words(
        "No constraint or invariant names the columns.",
        "named by",
        "Drop the constraint first, and add it again afterwards.",
    )
    return _expressions("constraint-columns", rules, snapshot.schema, paths, words)


def generated_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Generated columns, other than those themselves, whose expression may mention one of the columns (CM-013)."""
    gone = PathSet(paths)
    rules = {
        f"generated column {format_column(path)}": str(field.metadata[GENERATION_EXPRESSION])
        for path, field in walk(snapshot.schema)
        if GENERATION_EXPRESSION in field.metadata and not gone.surrounds(path)
    }
    words = _Words(
        "No generated column is computed from the columns.", "needed to compute", "Drop the generated column first."
    )
    return _expressions("generated-columns", rules, snapshot.schema, paths, words)


def partition_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Partition columns among those to be dropped: their values are in the log, not in the files."""
    names = {name.lower() for name in snapshot.partition_columns}
    hit = [format_column(path) for path in paths if len(path) == 1 and path[0].lower() in names]
    evidence: dict[str, object] = {"partitionColumns": list(snapshot.partition_columns)}
    if not hit:
        return _passed("partition-columns", evidence, "No partition column is touched.")
    detail = f"The table is partitioned by {', '.join(hit)}."
    return GuardResult(
        "partition-columns",
        "fail",
        evidence | {"columns": hit, "detail": detail},
        "Rewrite the table with other partition columns; they cannot be dropped.",
    )


def clustering_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Clustering columns among those to be dropped, or inside them."""
    try:
        clustered = clustering_columns(snapshot.schema, snapshot.column_mapping_mode, snapshot.domain_metadata)
    except CorruptTable as error:
        return GuardResult("clustering-columns", "unknown", {"detail": str(error)}, "Cluster the table again first.")
    hit = [format_column(path) for path in filter(PathSet(paths).surrounds, clustered)]
    evidence: dict[str, object] = {"clusteringColumns": [format_column(path) for path in clustered]}
    if not hit:
        return _passed("clustering-columns", evidence, "No clustering column is touched.")
    detail = f"The table is clustered by {', '.join(hit)}."
    remedy = "Cluster the table by other columns first (ALTER TABLE ... CLUSTER BY in Spark)."
    return GuardResult("clustering-columns", "fail", evidence | {"columns": hit, "detail": detail}, remedy)


def char_guard(schema: StructType, paths: Sequence[Path]) -> GuardResult | None:
    """Fields inside a column whose CHAR and VARCHAR parts are spelt out in its metadata, which would become wrong."""
    spelt = [path for path, field in walk(schema) if CHAR_VARCHAR in field.metadata]
    outside = PathSet(path[:-1] for path in paths)
    hit = [format_column(top) for top in filter(outside.is_inside, spelt)]
    if not hit:
        return None
    detail = f"The metadata of {', '.join(hit)} spells out its CHAR and VARCHAR parts, and would become wrong."
    remedy = "Make this change with the engine that created the column; it rewrites that metadata."
    return GuardResult("char-types", "fail", {"columns": hit, "detail": detail}, remedy)


class _Words(NamedTuple):
    """What a guard says of expressions: where none names the columns, what columns are to one, and what to do then."""

    none: str
    some: str
    remedy: str


def _expressions(
    guard: str, rules: dict[str, str], schema: StructType, paths: Sequence[Path], words: _Words
) -> GuardResult:
    mentioned = Mentioned(paths, schema)
    hit = {name: text for name, text in rules.items() if mentioned.by(text)}
    if not hit:
        return _passed(guard, {"looked at": len(rules)}, words.none)
    named = [format_column(path) for path in filter(Mentions(hit.values(), schema).of, paths)]
    detail = f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} {words.some} {', '.join(hit)}."
    return GuardResult(guard, "fail", {"expressions": hit, "detail": detail}, words.remedy)


def _invariant_text(value: JsonValue) -> str:
    """The SQL of an invariant: inside JSON, or bare as older writers wrote it (D-04)."""
    try:
        decoded: JsonValue = msgspec.json.decode(value) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return str(value)
    match decoded:
        case {"expression": {"expression": expression}}:
            return str(expression)
        case _:
            return str(value)


def _passed(guard: str, evidence: dict[str, object], detail: str) -> GuardResult:
    return GuardResult(guard, "pass", evidence | {"detail": detail})
