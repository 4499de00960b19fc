"""ALTER TABLE in the demo: properties, constraints, columns under column mapping.

Protocol sections: Column Mapping (Writer Requirements), Table Features, CHECK Constraints.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.actions import Protocol
from explorer.core.schema import (
    FIELD_ID_KEY,
    PHYSICAL_NAME_KEY,
    DataType,
    StructField,
    StructType,
    to_arrow,
    type_name,
)
from explorer.demo.log import LogWriter
from explorer.demo.provenance import Provenance
from explorer.demo.writer import TableWriter

__all__ = [
    "add_column",
    "add_constraint",
    "drop_column",
    "enable_column_mapping",
    "mapped",
    "rename_column",
    "set_comment",
    "set_properties",
]

MAX_ID: Final = "delta.columnMapping.maxColumnId"


def set_properties(
    table: TableWriter, by: Provenance, properties: dict[str, str], protocol: Protocol | None = None
) -> None:
    """SET TBLPROPERTIES, with the protocol that a property may need."""
    configuration = {**table.log.metadata.configuration, **properties}
    parameters = {"properties": json.dumps(properties, separators=(",", ":"))}
    table.change_metadata(by, "SET TBLPROPERTIES", parameters, protocol=protocol, configuration=configuration)


def set_comment(table: TableWriter, by: Provenance, comment: str) -> None:
    """COMMENT ON TABLE."""
    parameters = {"properties": json.dumps({"comment": comment}, separators=(",", ":"))}
    table.change_metadata(by, "SET TBLPROPERTIES", parameters, description=comment)


def add_constraint(
    table: TableWriter, by: Provenance, name: str, expression: str, protocol: Protocol | None = None
) -> None:
    """ADD CONSTRAINT ... CHECK."""
    configuration = {**table.log.metadata.configuration, f"delta.constraints.{name}": expression}
    parameters = {"name": name, "expr": expression}
    table.change_metadata(by, "ADD CONSTRAINT", parameters, protocol=protocol, configuration=configuration)


def enable_column_mapping(table: TableWriter, by: Provenance, protocol: Protocol) -> None:
    """SET delta.columnMapping.mode = name on a table that has files: each physical name is the name so far."""
    schema, last = mapped(table.schema, None)
    configuration = {**table.log.metadata.configuration, "delta.columnMapping.mode": "name", MAX_ID: str(last)}
    parameters = {"properties": '{"delta.columnMapping.mode":"name"}'}
    table.change_metadata(
        by, "SET TBLPROPERTIES", parameters, schema=schema, protocol=protocol, configuration=configuration
    )


def rename_column(table: TableWriter, by: Provenance, old: str, new: str) -> None:
    """RENAME COLUMN at the top level: the physical name stays."""
    fields = [msgspec.structs.replace(f, name=new) if f.name == old else f for f in table.schema.fields]
    table.rows = table.rows.rename_columns([new if name == old else name for name in table.rows.column_names])
    parameters = {"oldColumnPath": old, "newColumnPath": new}
    table.change_metadata(by, "RENAME COLUMN", parameters, schema=StructType(tuple(fields)))


def add_column(table: TableWriter, by: Provenance, name: str, kind: DataType, comment: str) -> None:
    """ADD COLUMNS under column mapping: a new id and a new physical name."""
    configuration = dict(table.log.metadata.configuration)
    added = StructField(name, kind, metadata={"comment": comment})
    field, last = _mapped_field(added, int(configuration[MAX_ID]), table.log)
    configuration[MAX_ID] = str(last)
    described = {"name": name, "type": type_name(kind), "nullable": True, "metadata": added.metadata}
    parameters = {"columns": json.dumps([{"column": described}], separators=(",", ":"))}
    table.rows = table.rows.append_column(pa.field(name, to_arrow(kind)), pa.nulls(table.rows.num_rows, to_arrow(kind)))
    schema = StructType((*table.schema.fields, field))
    table.change_metadata(by, "ADD COLUMNS", parameters, schema=schema, configuration=configuration)


def drop_column(table: TableWriter, by: Provenance, name: str) -> None:
    """DROP COLUMNS under column mapping: the files keep the data, nobody reads it."""
    schema = StructType(tuple(field for field in table.schema.fields if field.name != name))
    table.rows = table.rows.drop_columns([name])
    table.change_metadata(by, "DROP COLUMNS", {"columns": json.dumps([name])}, schema=schema)


def mapped(schema: StructType, log: LogWriter | None, last: int = 0) -> tuple[StructType, int]:
    """Give every field an id and a physical name.

    Args:
        schema: The schema to map.
        log: Where new physical names come from; None keeps the names as physical names.
        last: The largest id given so far.

    Returns:
        The mapped schema, and the largest id.
    """
    fields = []
    for field in schema.fields:
        new, last = _mapped_field(field, last, log)
        fields.append(new)
    return StructType(tuple(fields)), last


def _mapped_field(field: StructField, last: int, log: LogWriter | None) -> tuple[StructField, int]:
    identity = last + 1
    physical = field.name if log is None else f"col-{log.identity()}"
    kind, last = mapped(field.type, log, identity) if isinstance(field.type, StructType) else (field.type, identity)
    metadata: dict[str, Any] = {**field.metadata, FIELD_ID_KEY: identity, PHYSICAL_NAME_KEY: physical}
    return StructField(field.name, kind, field.nullable, metadata), last
