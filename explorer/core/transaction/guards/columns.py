"""Guards of columns: which names they may have, and what would break if one were renamed, dropped or retyped.

Protocol sections: Schema Serialization Format, Column Mapping, Change Data Files, CHECK Constraints, Generated Columns,
Column Invariants, Clustered Table. Invariants: names are unique ignoring case in every struct (SCHEMA-008); without
column mapping a name is also in the files and holds none of the characters that Parquet writers refuse (SCHEMA-009);
the columns of the change data feed belong to it (CDF-016); a column that an expression may mention is not changed
(CM-013, CONSTR-012); partition and clustering columns are not dropped; a guard that cannot be judged is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from explorer.core.errors import CorruptTable, InvalidIntent
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, GENERATION_EXPRESSION, INVARIANTS
from explorer.core.protocol.schema.nested_types import Path, walk
from explorer.core.protocol.schema.path_sets import PathSet
from explorer.core.protocol.sql.stored_expressions import Mentioned, Mentions
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, COLUMN_MAPPING_MODE
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.snapshot import Snapshot

FEED_COLUMNS: Final = frozenset(["_change_type", "_commit_version", "_commit_timestamp"])
MAP_FIRST: Final = "Switch column mapping to name first, or choose another name."
"""The remedy for names that files without column mapping cannot have."""
_INVALID: Final = frozenset(" ,;{}()\n\t=")


def check_free(name: str, taken: Iterable[str], field: str) -> None:
    """Check that a name can be given to one more column of a struct.

    Raises:
        InvalidIntent: It is empty, or a column has it already, ignoring case.
    """
    if not name:
        raise InvalidIntent("A column needs a name.", field=field)
    bearer = next((other for other in taken if other.lower() == name.lower()), None)
    if bearer is not None:
        raise InvalidIntent(
            f"The table already has a column {bearer!r}; names must differ in more than case. Choose another name.",
            field=field,
            found=name,
        )


def check_unique(schema: StructType, field: str) -> None:
    """Check the names of a whole schema.

    Raises:
        InvalidIntent: One is empty, or occurs twice in a struct, ignoring case.
    """
    seen: set[Path] = set()
    for path, _ in walk(schema):
        folded = tuple(part.lower() for part in path)
        taken = [path[-1]] if folded in seen else []
        check_free(path[-1], taken, field)
        seen.add(folded)


def names_guard(paths: Iterable[Path], *, mapped: bool, configuration: dict[str, str]) -> GuardResult:
    """Judge names that are free: may the table have columns with these names?

    Args:
        mapped: True if the table has column mapping, so that the files have other names.
    """
    columns = list(paths)
    evidence: dict[str, object] = {"columns": [format_column(path) for path in columns]}
    feed = CHANGE_DATA_FEED.of(configuration)
    taken = [path[0] for path in columns if feed and len(path) == 1 and path[0].lower() in FEED_COLUMNS]
    if taken:
        detail = f"{', '.join(taken)} is a column of the change data feed, which is on."
        remedy = f"Choose another name, or set {CHANGE_DATA_FEED} to false."
        return GuardResult("column-names", "fail", evidence | {"names": taken, "detail": detail}, remedy)
    bad = [] if mapped else [path for path in columns if _INVALID & set(path[-1])]
    if bad:
        names = [format_column(path) for path in bad]
        detail = "Without column mapping a name may not hold a blank, comma, semicolon, bracket, newline, tab or =."
        return GuardResult("column-names", "fail", evidence | {"names": names, "detail": detail}, MAP_FIRST)
    detail = "The names are free, valid and unique ignoring case."
    return GuardResult("column-names", "pass", evidence | {"detail": detail})


def mapping_guard(snapshot: Snapshot) -> GuardResult:
    """Judge whether files use physical column names, which renames and drops need (CM-013)."""
    mode = snapshot.column_mapping_mode
    evidence: dict[str, object] = {COLUMN_MAPPING_MODE.key: mode}
    if mode != "none":
        return _passed("column-mapping", evidence, "Data files use physical column names that do not change.")
    detail = "Without column mapping, data files use these names for the columns."
    return GuardResult(
        "column-mapping",
        "fail",
        evidence | {"detail": detail},
        "Switch column mapping to name first (set-column-mapping); clients must then be able to read it.",
    )


def constraint_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Judge CHECK constraints and column invariants that may mention one of the columns (CONSTR-012)."""
    rules = {f"constraint {name}": text for name, text in constraints(snapshot.metadata.configuration).items()}
    changed = PathSet(paths)
    for path, field in walk(snapshot.schema):
        if INVARIANTS in field.metadata and not changed.surrounds(path):
            rules[f"invariant of {format_column(path)}"] = _invariant_text(field.metadata[INVARIANTS])
    words = _ExpressionTexts(
        "No constraint or invariant names the columns.",
        "named by",
        "Drop the constraint first, and add it again afterwards.",
    )
    return _expressions("constraint-columns", rules, snapshot.schema, paths, words)


def generated_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Judge other generated columns whose expression may mention one of the columns (CM-013)."""
    changed = PathSet(paths)
    rules = {
        f"generated column {format_column(path)}": str(field.metadata[GENERATION_EXPRESSION])
        for path, field in walk(snapshot.schema)
        if GENERATION_EXPRESSION in field.metadata and not changed.surrounds(path)
    }
    words = _ExpressionTexts(
        "No generated column is computed from the columns.", "needed to compute", "Drop the generated column first."
    )
    return _expressions("generated-columns", rules, snapshot.schema, paths, words)


def partition_guard(snapshot: Snapshot, paths: Sequence[Path]) -> GuardResult:
    """Refuse to drop partition columns: their values are in the log, not in the files."""
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
    """Refuse to drop clustering columns, or columns that contain one."""
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
    """Judge fields inside a column whose metadata spells out its CHAR and VARCHAR parts: it would become wrong."""
    spelt = [path for path, field in walk(schema) if CHAR_VARCHAR in field.metadata]
    outside = PathSet(path[:-1] for path in paths)
    hit = [format_column(top) for top in filter(outside.is_inside, spelt)]
    if not hit:
        return None
    detail = f"The metadata of {', '.join(hit)} spells out its CHAR and VARCHAR parts, and would become wrong."
    remedy = "Make this change with the engine that created the column; it rewrites that metadata."
    return GuardResult("char-types", "fail", {"columns": hit, "detail": detail}, remedy)


class _ExpressionTexts(NamedTuple):
    """The texts of a guard on expressions: without a hit, how a hit uses the columns, and the next step."""

    none: str
    some: str
    remedy: str


def _expressions(
    guard: str, rules: dict[str, str], schema: StructType, paths: Sequence[Path], words: _ExpressionTexts
) -> GuardResult:
    mentioned = Mentioned(paths, schema)
    hit = {name: text for name, text in rules.items() if mentioned.by(text)}
    if not hit:
        return _passed(guard, {"looked at": len(rules)}, words.none)
    named = [format_column(path) for path in filter(Mentions(hit.values(), schema).of, paths)]
    detail = f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} {words.some} {', '.join(hit)}."
    return GuardResult(guard, "fail", {"expressions": hit, "detail": detail}, words.remedy)


def _invariant_text(value: JsonValue) -> str:
    """Return the SQL of an invariant: inside JSON, or bare as older writers wrote it (D-04)."""
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
