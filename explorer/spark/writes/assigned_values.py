"""The values of each column of a row, by the expressions of an update or of a merge's clauses.

Protocol sections: Default Columns, Generated Columns, Identity Columns. Invariants: an expression is vetted before it
is evaluated; a column is assigned once; an identity column is never updated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType, parse_column
from explorer.core.protocol.schema.edit import choices, first_names
from explorer.core.protocol.schema.field_metadata import (
    GENERATION_EXPRESSION,
    IDENTITY_ALLOW_EXPLICIT_INSERT,
    IDENTITY_START,
)
from explorer.core.protocol.sql.vetting import check_text
from explorer.core.transaction.intents.records import MergeClause
from explorer.core.transaction.new_files.row_constraints import default_expressions
from explorer.spark.engine.expressions import expression
from explorer.spark.scan.physical import quoted, spark_type
from explorer.spark.writes.column_values import column_value
from explorer.spark.writes.stored_expressions import evaluated

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot


class AssignedValues:
    """The values of each column after a change, in the order of the schema.

    Args:
        rows: The rows that change: those of the table under the name ``target``, those of a source under ``source``.
        snapshot: The table's version.
        lenient: The schema may change, so the source need not have every column.
    """

    def __init__(self, rows: DataFrame, snapshot: Snapshot, *, lenient: bool = False) -> None:
        self._lenient = lenient
        self._rows = rows
        self._schema = snapshot.schema
        self._defaults = default_expressions(snapshot)

    def of_clause(self, clause: MergeClause, given: Sequence[str]) -> tuple[list[Column], set[str]]:
        """Return the values that a clause of a merge gives, and the columns that it assigns."""
        if clause.action == "delete":
            return [sf.lit(None).cast(spark_type(field.type)) for field in self._schema.fields], set()
        values = self._all_of_source(given) if clause.values is None else clause.values
        return self.after(values, clause.group) if clause.action == "update" else self._inserted(values, clause.group)

    def after(self, assigned: Mapping[str, str], where: str) -> tuple[list[Column], set[str]]:
        """Return the values of a row of the table once some columns are assigned, and these columns."""
        assignments = self._assigned(assigned, where)
        for field in self._schema.fields:
            if IDENTITY_START in field.metadata and any(path[0] == field.name for path in assignments):
                raise InvalidIntent(f"The identity column {field.name!r} cannot be updated.", field=where)
        values = []
        for field in self._schema.fields:
            value = sf.col(f"target.{quoted(field.name)}")
            for path, text in assignments.items():
                if path == (field.name,):
                    value = self._value(text, field)
                elif path[0] == field.name:
                    name = ".".join(map(quoted, path[1:]))
                    value = sf.when(value.isNotNull(), value.withField(name, expression(self._rows, text))).otherwise(
                        value
                    )
            values.append(self._fitted(value, field, where))
        return values, {path[0] for path in assignments}

    def _inserted(self, assigned: Mapping[str, str], where: str) -> tuple[list[Column], set[str]]:
        assignments = self._assigned(assigned, where)
        values = []
        for field in self._schema.fields:
            text = assignments.get((field.name,))
            explicit = field.metadata.get(IDENTITY_ALLOW_EXPLICIT_INSERT, False)
            if text is not None and IDENTITY_START in field.metadata and not explicit:
                raise InvalidIntent(
                    f"The identity column {field.name!r} is GENERATED ALWAYS: leave it out.", field=where
                )
            values.append(self._fitted(self._value("DEFAULT" if text is None else text, field), field, where))
        return values, {path[0] for path, text in assignments.items() if not _is_default(text)}

    def _all_of_source(self, given: Sequence[str]) -> dict[str, str]:
        """Expand ``"*"``: every column of the table from the column of that name in the source.

        Where the schema may change, a column that the source lacks is left as it is, or out of a new row.
        """
        names = {name.lower(): name for name in given}
        values = {}
        for field in self._schema.fields:
            name = names.get(field.name.lower())
            if name is not None:
                values[quoted(field.name)] = f"source.{quoted(name)}"
            elif self._lenient:
                continue
            elif GENERATION_EXPRESSION not in field.metadata and IDENTITY_START not in field.metadata:
                raise InvalidIntent(
                    f'"*" takes every column from the source, and the source has no column {field.name!r}. It has: '
                    f"{', '.join(given)}.",
                    field="source",
                )
        return values

    def _assigned(self, assigned: Mapping[str, str], where: str) -> dict[tuple[str, ...], str]:
        """Return the expressions by the path of their column, in the schema's spelling; vetted."""
        assignments: dict[tuple[str, ...], str] = {}
        for name, text in assigned.items():
            try:
                parts = parse_column(name)
            except ValueError as error:
                raise InvalidIntent(f"{name!r} is not the name of a column: {error}.", field=where) from error
            path = self._known(parts, name, where)
            if any(path[: len(other)] == other or other[: len(path)] == path for other in assignments):
                raise InvalidIntent(f"The column {name} is assigned twice.", field=where, column=name)
            check_text(text)
            assignments[path] = text
        return assignments

    def _known(self, parts: tuple[str, ...], name: str, where: str) -> tuple[str, ...]:
        fields, path = self._schema.fields, []
        for part in parts:
            matches = [field for field in fields if field.name == part] or [
                field for field in fields if field.name.lower() == part.lower()
            ]
            if len(matches) != 1:
                names = [field.name for field in self._schema.fields]
                raise InvalidIntent(
                    f"The table has no column {name}. Its columns: {first_names(names)}.",
                    field=where,
                    column=name,
                    allowed=choices(names),
                )
            path.append(matches[0].name)
            fields = matches[0].type.fields if isinstance(matches[0].type, StructType) else ()
        return tuple(path)

    def _fitted(self, value: Column, field: StructField, where: str) -> Column:
        """Return a value in the type of a column; only nested ones need to know what they are."""
        wanted = spark_type(field.type)
        if isinstance(field.type, PrimitiveType):
            return value.cast(wanted)
        actual = self._rows.select(value.alias("value")).schema.fields[0].dataType
        return column_value(value, actual, wanted, field.name, where)

    def _value(self, text: str, field: StructField) -> Column:
        if not _is_default(text):
            return expression(self._rows, text)
        default = self._defaults.get(field.name)
        return sf.lit(None) if default is None else evaluated(default, self._rows).value


def _is_default(text: str) -> bool:
    return text.strip().upper() == "DEFAULT"
