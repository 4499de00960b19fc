"""The metadata: property values that cannot be read, and partition columns that the schema spells differently."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see, written_again
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.compatibility.demands import (
    PROPERTY_INTERVAL,
    PROPERTY_READ,
    PROPERTY_VALUE,
    UNSUPPORTED_MAPPING,
    is_unreadable,
    respelled_partitions,
)
from explorer.core.protocol.schema.column_mapping import maps_columns
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE, PROPERTIES, property_of
from explorer.core.protocol.table_properties.table_property import Interval, TableProperty
from explorer.core.transaction.intents.records import EnableFeature, SetProperties, UnsetProperties

_MOST: Final = 4
_UNLIKE_MONTHS: Final = "interval 30 days"


def _values(subject: Subject) -> tuple[Finding, ...]:
    """Report properties whose value some clients, or all, cannot use."""
    bad = {
        key: (row, value)
        for key, value in sorted(subject.metadata.configuration.items())
        if (row := property_of(key)) is not None and is_unreadable(row, value)
    }
    if not bad:
        return _unallowed_mapping(subject)
    one, demands = len(bad) == 1, subject.requirements.demands
    return (
        Finding(
            rule="property-values",
            severity="error" if demands & {PROPERTY_INTERVAL, PROPERTY_READ, PROPERTY_VALUE} else "warning",
            label=f"{fmt.plural(len(bad), 'property', 'properties')} unreadable",
            title=f"The value of {named(list(bad))} cannot be read",
            evidence=tuple(
                Evidence(
                    f"{key} is {fmt.shorten(fmt.plain(repr(value), 200), 60)}, not {' or '.join(row.refusal(value))}",
                    Place("state"),
                )
                for key, (row, value) in list(bad.items())[:_MOST]
            ),
            effect=_effect(demands, one=one),
            remedy=_repair(bad) or see(subject, "See the properties, and set them with their writer", Place("state")),
        ),
    )


def _unallowed_mapping(subject: Subject) -> tuple[Finding, ...]:
    """Report column mapping that the protocol does not allow, but that clients follow."""
    if UNSUPPORTED_MAPPING not in subject.requirements.demands or not maps_columns(subject.metadata):
        return ()
    key = COLUMN_MAPPING_MODE.key
    return (
        Finding(
            rule="property-values",
            severity="error",
            label="column mapping not allowed",
            title=f"{key} is set, and the protocol does not list columnMapping",
            evidence=(Evidence(f"{key} is {COLUMN_MAPPING_MODE.of(subject.metadata.configuration)}", Place("state")),),
            effect="By the protocol, the files use the logical names, but delta-spark reads the physical "
            "names, so one of the two reads NULL. Rows are not read here until this is resolved.",
            remedy=Remedy("Enable the feature…", intent=EnableFeature(feature="columnMapping")),
        ),
    )


def _effect(demands: frozenset[str], *, one: bool) -> str:
    if PROPERTY_INTERVAL in demands:
        return (
            "delta-spark can neither read, write nor vacuum a table whose retention names months or years, or is not "
            "an interval. Checks that need the property cannot run."
        )
    if PROPERTY_READ in demands:
        return (
            "delta-spark can neither read nor write a table with such a value. Checks that need the property cannot "
            "run."
        )
    if PROPERTY_VALUE in demands:
        return "delta-spark reads the table, and every write fails. Checks that need the property cannot run."
    return (
        f"A client that uses {'it' if one else 'them'} fails at that moment, for example at a log cleanup, or uses a "
        "default. Checks that need the property cannot run."
    )


def _repair(bad: dict[str, tuple[TableProperty, str]]) -> Remedy | None:
    """Set each property to a value that every client takes: its default, or 30 days where months were meant."""
    free = {key: demand for key, demand in bad.items() if demand[0].why_fixed is None}
    values = {key: _value(row, value) for key, (row, value) in free.items()}
    known = {key: value for key, value in values.items() if value is not None}
    if known:
        return Remedy("Set the property…", intent=SetProperties(properties=known))
    return Remedy("Remove the property…", intent=UnsetProperties(keys=tuple(free))) if free else None


def _value(row: TableProperty, value: str) -> str | None:
    if isinstance(row, Interval) and "month" in value.lower():
        return _UNLIKE_MONTHS
    return row.default


def _cases(subject: Subject) -> tuple[Finding, ...]:
    """Report keys of Delta's properties in another case, or with spaces around them: they do nothing."""
    configuration = subject.metadata.configuration
    ignored = {
        key: row
        for key in sorted(configuration)
        if property_of(key) is None and (row := PROPERTIES.get(key.strip().lower())) is not None
    }
    if not ignored:
        return ()
    key, row = next(iter(ignored.items()))
    return (
        Finding(
            rule="property-case",
            severity="warning",
            label=f"{fmt.plural(len(ignored), 'property', 'properties')} with different case",
            title=f"{named(list(ignored))} {'does' if len(ignored) == 1 else 'do'} nothing, as "
            f"{'the case differs' if key == key.strip() else 'spaces surround it'}",
            evidence=tuple(
                Evidence(
                    f"{key} is {fmt.shorten(fmt.plain(configuration[key], 200), 60)}; "
                    f"{row} is {fmt.shorten(fmt.plain(row.text(configuration) or 'not set', 200), 60)}",
                    Place("state"),
                )
                for key, row in list(ignored.items())[:_MOST]
            ),
            effect=f"Clients match these names by exact case, so only {row} counts. If {key} is meant, set {row} to "
            "its "
            "value.",
            remedy=Remedy("Remove the unused properties…", intent=UnsetProperties(keys=tuple(ignored))),
        ),
    )


def _unread(subject: Subject) -> tuple[Finding, ...]:
    """Report columns of unsupported types."""
    unread = subject.snapshot.unread_columns
    if not unread:
        return ()
    names = [column.name for column in unread]
    return (
        Finding(
            rule="unread-columns",
            severity="warning",
            label=f"{fmt.plural(len(unread), 'column')} not read",
            title=f"The type of {named(names)} is not supported by Delta Table Explorer",
            evidence=tuple(
                Evidence(f"{named([column.name])}: {fmt.shorten(fmt.plain(column.type, 200), 60)}. {column.reason}")
                for column in unread[:_MOST]
            ),
            effect="Other columns are readable. Rows and findings here do not cover these columns, and the "
            "table cannot be written here.",
            remedy=see(subject, "See which clients read them", Place("clients")),
        ),
    )


def _partitions(subject: Subject) -> tuple[Finding, ...]:
    """Report partition columns that the schema spells in another case, or lacks."""
    metadata = subject.metadata
    other = respelled_partitions(metadata)
    if not other:
        return _repeated_partitions(subject)
    name, spelt = next(iter(other.items()))
    return (
        Finding(
            rule="partition-column-case",
            severity="error",
            label="partition column with different case",
            title=f"The partition column {named([name])} is {named([spelt])} in the schema",
            evidence=(
                Evidence(f"partitionColumns: {named(list(metadata.partition_columns))}", Place("state")),
                *(Evidence(f"schema: {named([column])}", Place("columns")) for column in list(other.values())[:_MOST]),
            ),
            effect="delta-spark, deltalake, and DuckDB match names by exact case and refuse the "
            "table; delta-kernel reads NULL in the column.",
            remedy=written_again(subject),
        ),
    )


def _repeated_partitions(subject: Subject) -> tuple[Finding, ...]:
    """Report a partition column that is named more than once."""
    columns = subject.metadata.partition_columns
    name = next((name for name in columns if [each.lower() for each in columns].count(name.lower()) > 1), None)
    if name is None:
        return ()
    return (
        Finding(
            rule="partition-column-case",
            severity="error",
            label="partition column named twice",
            title=f"The table is partitioned by {named([name])} more than once",
            evidence=(Evidence(f"partitionColumns: {named(list(columns))}", Place("state")),),
            effect="delta-spark and deltalake refuse the table.",
            remedy=written_again(subject),
        ),
    )


DEMAND_RULES: Final = (
    Rule(
        "unread-columns",
        "warning",
        "columns of types that Delta Table Explorer cannot read",
        "Data that cannot be read is not checked.",
        _unread,
    ),
    Rule(
        "property-values",
        "error",
        "property values that cannot be read",
        "A client that uses such a property refuses the table, and rules that need it cannot run.",
        _values,
    ),
    Rule(
        "property-case",
        "warning",
        "Delta properties with different case",
        "They look set, but clients ignore them.",
        _cases,
    ),
    Rule(
        "partition-column-case",
        "error",
        "partition columns whose case differs from the schema",
        "Most engines match names by exact case, and refuse the table or read nulls.",
        _partitions,
    ),
)
