"""A new table: schema, partition columns and properties, with the least protocol that they need.

Protocol sections: Change Metadata, Protocol Evolution, Schema Serialization Format, Column Mapping. Invariants: version
0 holds a protocol and a metaData (D-30, PROTO-011); what a property switches on, or a column needs, is in the protocol
(FEAT-005); the schema is valid from the first version on.
"""

from __future__ import annotations

from collections.abc import Mapping

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.protocol_evolution import LEGAL_VERSIONS, with_features, with_versions
from explorer.core.protocol.schema.column_mapping import map_columns
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType, format_column, parse_column
from explorer.core.protocol.schema.edit import choices, first_names
from explorer.core.protocol.schema.field_metadata import CURRENT_DEFAULT, GENERATION_EXPRESSION
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_features import active_features, features_switched_on
from explorer.core.protocol.table_properties.registry import (
    COLUMN_MAPPING_MODE,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    MIN_WRITER_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from explorer.core.transaction.guards.columns import check_unique, names_guard
from explorer.core.transaction.intents.fields import (
    SPECIAL_KEYS,
    check_special_columns,
    features_of_columns,
    features_of_types,
    read_field,
)
from explorer.core.transaction.intents.property_settings import (
    RequestedProperties,
    check_formats,
    check_properties,
    requested_properties,
)
from explorer.core.transaction.intents.records import CreateTable
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.add_columns import needs_values
from explorer.core.transaction.proposals.column_mapping import USAGE_TRACKING
from explorer.core.transaction.proposals.entry import parameter_text
from explorer.core.transaction.proposals.table_properties import check_statistics_columns

_UNPARTITIONABLE = frozenset(["variant", "void"])


def create_table(intent: CreateTable, circumstances: Circumstances) -> Proposal:
    """Make a table where there is none.

    Raises:
        InvalidIntent: The schema, a partition column or a property makes no sense; ``field`` names it.
        UnsupportedFeature: A type is one that this program does not know.
    """
    if intent.schema is None:
        raise InvalidIntent("A table needs a schema, or a source with rows whose schema it takes.", field="schema")
    schema = _read_schema(intent.schema)
    requested = requested_properties(check_properties(intent.properties))
    partition = _partition_columns(intent.partition_columns, schema)
    check_special_columns(schema, partition, requested.features)
    check_statistics_columns(requested.configuration, schema, partition)
    check_formats(requested.configuration)
    protocol = _protocol(schema, requested)
    schema, configuration = _assigned(schema, requested.configuration, protocol, circumstances)
    description = requested.description if intent.description is None else intent.description
    metadata = Metadata(
        id=circumstances.new_id(),
        name=intent.name,
        description=description,
        schema_string=schema.to_json(),
        partition_columns=partition,
        configuration=configuration,
        created_time=circumstances.now,
    )
    mapped = MAX_COLUMN_ID.is_set(configuration)
    guards = (
        names_guard([path for path, _ in walk(schema)], mapped=mapped, configuration=configuration),
        _generated_guard(schema),
        _defaults_guard(schema),
    )
    return Proposal(
        operation="CREATE TABLE",
        parameters={
            "partitionBy": parameter_text(list(partition)),
            "clusterBy": "[]",
            "description": description,
            "isManaged": "false",
            "properties": parameter_text(configuration),
        },
        metadata=metadata,
        protocol=protocol,
        guards=tuple(guard for guard in guards if guard is not None),
        undo="Delete the folder of the table.",
    )


def generation_expressions(schema: StructType) -> dict[str, str]:
    """Return the expressions of generated columns, by column."""
    texts = ((field.name, field.metadata.get(GENERATION_EXPRESSION)) for field in schema.fields)
    return {name: str(text) for name, text in texts if text is not None}


def _read_schema(value: JsonObject) -> StructType:
    fields = value.get("fields")
    if value.get("type") != "struct" or not isinstance(fields, (list, tuple)) or set(value) != {"type", "fields"}:
        raise InvalidIntent(
            "The schema must be a struct as in schemaString: "
            '{"type": "struct", "fields": [{"name": ..., "type": ...}]}.',
            field="schema",
        )
    if not fields:
        raise InvalidIntent("A table needs at least one column.", field="schema")
    schema = StructType(tuple(read_field(field, "schema", SPECIAL_KEYS) for field in fields))
    check_unique(schema, "schema")
    if all(field.type == PrimitiveType("void") for field in schema.fields):
        raise InvalidIntent("A table needs a column that is not void.", field="schema")
    return schema


def _partition_columns(names: tuple[str, ...], schema: StructType) -> tuple[str, ...]:
    """Return the partition columns in the schema's spelling (META-007)."""
    partition: dict[str, None] = {}
    for name in names:
        field = schema.field(name) or schema.field(_unquoted(name))
        if field is None:
            known = [other.name for other in schema.fields]
            raise InvalidIntent(
                f"The partition column {name!r} is not a top-level column of the table. Columns: {first_names(known)}.",
                field="partitionColumns",
                allowed=choices(known),
            )
        if field.name in partition:
            raise InvalidIntent(f"The partition column {field.name!r} is named twice.", field="partitionColumns")
        if not isinstance(field.type, PrimitiveType) or field.type.name in _UNPARTITIONABLE:
            raise InvalidIntent(
                f"The column {field.name!r} has a type that a partition column cannot have.", field="partitionColumns"
            )
        partition[field.name] = None
    if len(partition) == len(schema.fields):
        raise InvalidIntent("Not every column can be a partition column (META-007).", field="partitionColumns")
    return tuple(partition)


def _unquoted(name: str) -> str:
    """Return a name without the backticks that it has in paths of columns."""
    try:
        path = parse_column(name)
    except ValueError:
        return name
    return path[0] if len(path) == 1 else name


def _protocol(schema: StructType, requested: RequestedProperties) -> Protocol:
    base = Protocol(min_reader_version=1, min_writer_version=2)
    if requested.min_reader_version is not None or requested.min_writer_version is not None:
        pair = (requested.min_reader_version or 1, requested.min_writer_version or 2)
        if pair not in LEGAL_VERSIONS:
            legal = ", ".join(map(str, LEGAL_VERSIONS))
            raise InvalidIntent(
                f"Reader version {pair[0]} with writer version {pair[1]} is not a legal pair. Legal: {legal}.",
                field=MIN_WRITER_VERSION.key,
                allowed=[list(versions) for versions in LEGAL_VERSIONS],
            )
        plain = pair[1] < 7
        base = Protocol(min_reader_version=pair[0], min_writer_version=pair[1]) if plain else with_versions(base, *pair)
    strict = [path for field in schema.fields for path in needs_values(field, (), "schema")]
    names = (
        *requested.features,
        *features_switched_on(requested.configuration),
        *features_of_types(field.type for field in schema.fields),
        *features_of_columns(schema),
        *(["invariants"] if strict else []),
    )
    return with_features(base, names)


def _assigned(
    schema: StructType, wanted: Mapping[str, str], protocol: Protocol, circumstances: Circumstances
) -> tuple[StructType, dict[str, str]]:
    """Give columns, and row ids, their names in the files."""
    configuration, features = dict(wanted), active_features(protocol)
    tracked = USAGE_TRACKING in features
    if tracked:
        configuration[HAS_DROPPED_OR_RENAMED.key] = "false"
    if COLUMN_MAPPING_MODE.of(configuration) != "none":

        def naming(field: StructField) -> str:
            return field.name if tracked else f"col-{circumstances.new_id()}"

        schema, last = map_columns(schema, 0, naming)
        configuration[MAX_COLUMN_ID.key] = str(last)
    if "rowTracking" in features:
        configuration.setdefault(ROW_ID_COLUMN.key, f"_row-id-col-{circumstances.new_id()}")
        configuration.setdefault(ROW_COMMIT_VERSION_COLUMN.key, f"_row-commit-version-col-{circumstances.new_id()}")
    return schema, configuration


def _defaults_guard(schema: StructType) -> GuardResult | None:
    defaults = {
        format_column(path): field.metadata[CURRENT_DEFAULT]
        for path, field in walk(schema)
        if CURRENT_DEFAULT in field.metadata
    }
    if not defaults:
        return None
    detail = (
        "Nothing has checked that the defaults are values of their columns: if one is not, inserts without it fail."
    )
    remedy = "Insert a row with an engine that uses defaults before others do."
    return GuardResult("default-values", "warn", {"defaults": defaults, "detail": detail}, remedy)


def _generated_guard(schema: StructType) -> GuardResult | None:
    expressions = generation_expressions(schema)
    if not expressions:
        return None
    detail = "Nothing has checked that the expressions give the types of their columns."
    remedy = "Let Spark check them, or accept this guard by name."
    return GuardResult("generated-types", "unknown", {"expressions": expressions, "detail": detail}, remedy)
