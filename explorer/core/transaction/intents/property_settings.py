"""Table properties that can be set: true keys, values in range, and what else they request.

Protocol section: Change Metadata (configuration). Invariants: an unknown ``delta.*`` key is refused with the nearest
one, a key without that prefix is free; values are kept as they were given; ``comment``, ``delta.minReaderVersion``,
``delta.minWriterVersion`` and ``delta.feature.*`` are requests and never properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.statistics.collect import split_columns
from explorer.core.protocol.table_features import FEATURES
from explorer.core.protocol.table_properties.registry import (
    DELETION_VECTORS,
    ENABLED_FORMATS,
    FEATURE_PREFIX,
    FREE_PREFIX,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    IGNORE_PROTOCOL_DEFAULTS,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PREFIX,
    PROPERTIES,
    STATS_COLUMNS,
    SYMLINK_FORMAT_MANIFEST,
)
from explorer.core.protocol.table_properties.table_property import Columns, Flag
from explorer.core.protocol.table_properties.values import CONSTRAINT_PREFIX

_RESERVED: Final = {
    "location": "a property cannot move a table",
    "provider": "a Delta table cannot change its format",
    "owner": "it belongs to the catalog",
    "external": "it belongs to the catalog",
    "is_managed_location": "it belongs to the catalog",
    "table_type": "it belongs to the catalog",
}
_ICEBERG_LAYOUTS: Final = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)
_BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART: Final = rf"(?:{_BARE_NAME.pattern}|`(?:[^`]|``)+`)"
_SQL_COLUMN: Final = re.compile(rf"{_PART}(?:\.{_PART})*")
_KNOWN_FEATURES: Final = {name.lower(): name for name in FEATURES}


class RequestedProperties(msgspec.Struct, frozen=True):
    """Requested properties, and what they bring with them.

    Attributes:
        configuration: The table's new configuration, true keys.
        features: Features requested by ``delta.feature.*``.
        min_reader_version, min_writer_version: Requested versions; None where they were not named.
        comments: Whether ``comment`` was given.
        description: The text of ``comment``.
    """

    configuration: dict[str, str]
    features: tuple[str, ...] = ()
    min_reader_version: int | None = None
    min_writer_version: int | None = None
    comments: bool = False
    description: str | None = None


def check_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with true keys, in their order.

    Raises:
        InvalidIntent: A key is unknown, reserved or given twice, or a value is not allowed; ``field`` names the
            key, ``allowed`` the values, ``nearest`` the key that may be meant.
    """
    checked: dict[str, str] = {}
    for key, value in properties.items():
        name = true_key(key)
        if name in checked:
            raise InvalidIntent(f"The property {name} is given twice.", field=key)
        _check(name, value)
        checked[name] = value
    return checked


def true_key(key: str) -> str:
    """Return the key in its true case; a key without the prefix ``delta.`` stays unchanged.

    Raises:
        InvalidIntent: There is no such property, or it cannot be named here.
    """
    lowered = key.lower()
    if not key.strip():
        raise InvalidIntent("A property needs a name.", field=key)
    if lowered in _RESERVED:
        raise InvalidIntent(f"The property {key!r} cannot be set on the table: {_RESERVED[lowered]}.", field=key)
    if key == "clusteringColumns":
        raise InvalidIntent(f"{key} is set by naming the columns (ALTER TABLE ... CLUSTER BY in Spark).", field=key)
    if not lowered.startswith(PREFIX):
        return key
    if lowered.startswith(FREE_PREFIX):
        return lowered[: len(FREE_PREFIX)] + key[len(FREE_PREFIX) :]
    if lowered.startswith(CONSTRAINT_PREFIX):
        raise InvalidIntent(
            f"{key} is a CHECK constraint, which all rows must satisfy. Add or drop it with add-constraint and "
            "drop-constraint.",
            field=key,
            allowed=["add-constraint", "drop-constraint"],
        )
    if lowered.startswith(FEATURE_PREFIX):
        return FEATURE_PREFIX + feature_name(key[len(FEATURE_PREFIX) :], key).lower()
    known = PROPERTIES.get(lowered)
    if known is None:
        near = get_close_matches(lowered, PROPERTIES, 1, 0.5)
        nearest = PROPERTIES[near[0]].key if near else None
        hint = f" Did you mean {nearest}?" if nearest else ""
        raise InvalidIntent(
            f"There is no table property {key!r}.{hint} Names that start with delta. belong to Delta; any other name "
            "is free.",
            field=key,
            nearest=nearest,
        )
    return known.key


def feature_name(name: str, field: str) -> str:
    """Return the name of a feature in its true case.

    Raises:
        InvalidIntent: There is no such feature; ``nearest`` is one that may be meant.
    """
    known = _KNOWN_FEATURES.get(name.lower())
    if known is None:
        near = get_close_matches(name.lower(), _KNOWN_FEATURES, 1)
        nearest = _KNOWN_FEATURES[near[0]] if near else None
        hint = f" Did you mean {nearest}?" if nearest else ""
        raise InvalidIntent(
            f"There is no table feature {name!r}.{hint}", field=field, nearest=nearest, allowed=list(FEATURES)
        )
    return known


def requested_properties(checked: Mapping[str, str]) -> RequestedProperties:
    """Sort out what properties, as `check_properties` returns them, ask for."""
    prefix = FEATURE_PREFIX
    features = tuple(_KNOWN_FEATURES[key[len(prefix) :]] for key in checked if key.startswith(prefix))
    apart = ("comment", MIN_READER_VERSION.key, MIN_WRITER_VERSION.key, IGNORE_PROTOCOL_DEFAULTS.key)
    configuration = {key: value for key, value in checked.items() if key not in apart and not key.startswith(prefix)}
    reader, writer = checked.get(MIN_READER_VERSION.key), checked.get(MIN_WRITER_VERSION.key)
    return RequestedProperties(
        configuration,
        features,
        None if reader is None else int(reader),
        None if writer is None else int(writer),
        "comment" in checked,
        checked.get("comment"),
    )


def statistics_columns_of(value: str) -> tuple[tuple[str, ...], ...]:
    """Return the columns in a value of ``delta.dataSkippingStatsColumns``; none in an empty one.

    Raises:
        InvalidIntent: It is not a list of columns.
    """
    if not value.strip():
        return ()
    try:
        return tuple(parse_column(name) for name in split_columns(value))
    except ValueError as error:
        raise _bad(STATS_COLUMNS.key, value, ["a, b.c, `odd name`"]) from error


def check_formats(configuration: Mapping[str, str]) -> None:
    """Check that other formats can show what the table holds.

    Raises:
        InvalidIntent: The properties ask for Iceberg without a layout for it, or for Hudi or manifests with deletion
            vectors.
    """
    formats, key = ENABLED_FORMATS.words(configuration), ENABLED_FORMATS.key
    if "iceberg" in formats and not any(_is_on(layout, configuration) for layout in _ICEBERG_LAYOUTS):
        raise InvalidIntent(f"{key} names iceberg, which needs {ICEBERG_COMPAT_V2.key}.", field=key)
    if "hudi" in formats and _is_on(DELETION_VECTORS, configuration):
        raise InvalidIntent(f"{key} names hudi, which does not support deletion vectors.", field=key)
    if _is_on(SYMLINK_FORMAT_MANIFEST, configuration) and _is_on(DELETION_VECTORS, configuration):
        raise InvalidIntent(
            f"{SYMLINK_FORMAT_MANIFEST} and {DELETION_VECTORS} cannot both be true: a manifest lists whole files and "
            "cannot leave out the rows that a vector removes. Set one of them to false.",
            field=SYMLINK_FORMAT_MANIFEST.key,
        )


def _is_on(switch: Flag, configuration: Mapping[str, str]) -> bool:
    return configuration.get(switch.key, "").lower() == "true"


def _check(name: str, value: str) -> None:
    if name.startswith(FEATURE_PREFIX):
        _check_feature(name, value)
        return
    known = PROPERTIES.get(name.lower())
    if known is None:
        return
    if known.why_fixed is not None:
        raise InvalidIntent(f"The property {known.key} cannot be set by hand: {known.why_fixed}.", field=known.key)
    if isinstance(known, Columns):
        _check_columns(known, value)
    elif allowed := known.refusal(value):
        raise _bad(known.key, value, allowed)


def _check_feature(name: str, value: str) -> None:
    feature = FEATURES[_KNOWN_FEATURES[name[len(FEATURE_PREFIX) :]]]
    if value.lower() not in ("supported", "enabled"):
        raise _bad(f"{FEATURE_PREFIX}{feature.name}", value, ("supported",))
    if feature.why_fixed is not None:
        raise InvalidIntent(f"The feature {feature.name} cannot be added: {feature.why_fixed}.", field=name)


def _check_columns(known: Columns, value: str) -> None:
    """Check that Spark reads the same columns in the list, each once; the table's schema is not needed for that."""
    columns = statistics_columns_of(value)
    lowered = [tuple(part.lower() for part in column) for column in columns]
    for place, column in enumerate(lowered):
        if column in lowered[:place]:
            raise InvalidIntent(f"{known.key} names {'.'.join(column)} twice.", field=known.key, found=value)
        outer = next((other for other in lowered if other != column and column[: len(other)] == other), None)
        if outer is not None:
            inner, around = statistics_column(column), statistics_column(outer)
            raise InvalidIntent(
                f"{known.key} names {inner} twice: by itself and with {around}. Leave one out.",
                field=known.key,
                found=value,
            )
    _check_spelling(known, value, columns)


def _check_spelling(known: Columns, value: str, columns: Sequence[tuple[str, ...]]) -> None:
    """Check that names which are no SQL identifiers have backticks.

    Spark reads the list as SQL. Of what it cannot parse it takes the part before, or nothing, and then fails in every
    write instead of when the property is set.
    """
    odd = [name for name in split_columns(value) if not _SQL_COLUMN.fullmatch(name)]
    if columns and odd:
        better = ",".join(map(statistics_column, columns))
        raise InvalidIntent(
            f"{known.key} names {odd[0]}, which needs backticks there. Write {better}.",
            field=known.key,
            found=value,
            nearest=better,
        )


def statistics_column(column: Sequence[str]) -> str:
    """Return the column as Spark parses it: only ASCII names go without backticks, unlike in `format_column`."""
    return ".".join(part if _BARE_NAME.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in column)


def _bad(key: str, value: str, allowed: Sequence[str]) -> InvalidIntent:
    return InvalidIntent(
        f"The property {key} cannot be {value!r}; it must be {' or '.join(allowed)}.",
        field=key,
        found=value,
        allowed=list(allowed),
    )
