"""What a person may set as table properties: true keys, values in range, and what else they ask for.

Protocol section: Change Metadata (configuration). Invariants: an unknown ``delta.*`` key is refused with the nearest
one, a key without that prefix is free; values are kept as they were given; ``comment``, ``delta.minReaderVersion``,
``delta.minWriterVersion`` and ``delta.feature.*`` are wishes and never properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, InvalidIntent
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.table_features import CATALOG_FEATURES, FEATURES
from explorer.core.protocol.table_properties.registry import PROPERTIES, TableProperty
from explorer.core.protocol.table_properties.values import interval

__all__ = [
    "FEATURE_PREFIX",
    "FORMATS_KEY",
    "PropertyWishes",
    "check_formats",
    "check_properties",
    "feature_name",
    "features_of",
    "read_wishes",
    "statistics_columns_of",
    "switch_of",
    "true_key",
]

FEATURE_PREFIX: Final = "delta.feature."
FORMATS_KEY: Final = "delta.universalFormat.enabledFormats"
_CONSTRAINT_PREFIX: Final = "delta.constraints."
_FREE_PREFIX: Final = "delta.universalformat.config."
_RESERVED: Final = {
    "location": "the table lies where it lies",
    "provider": "a Delta table stays one",
    "owner": "it belongs to the catalog",
    "external": "it belongs to the catalog",
    "is_managed_location": "it belongs to the catalog",
    "table_type": "it belongs to the catalog",
}
_KNOWN_FEATURES: Final = {name.lower(): name for name in FEATURES}
_LARGEST: Final = 2**31 - 1
_MOST_DIGITS: Final = 20


class PropertyWishes(msgspec.Struct, frozen=True):
    """What properties ask for.

    Attributes:
        configuration: What becomes of the table's configuration, true keys.
        features: Features asked for by ``delta.feature.*``.
        min_reader_version, min_writer_version: Versions asked for; None where they were not named.
        comments: True if ``comment`` was given.
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
        InvalidIntent: A key is unknown, reserved or given twice, or a value cannot stand there; ``field`` names the
            key, ``allowed`` the values, ``nearest`` the key that may be meant.
    """
    found: dict[str, str] = {}
    for key, value in properties.items():
        name = true_key(key)
        if name in found:
            raise InvalidIntent(f"The property {name} is given twice.", field=key)
        _check(name, value)
        found[name] = value
    return found


def true_key(key: str) -> str:
    """The key in its true case; a key without the prefix ``delta.`` stays as it is.

    Raises:
        InvalidIntent: There is no such property, or it is no property that can be named here.
    """
    lowered = key.lower()
    if not key.strip():
        raise InvalidIntent("A property needs a name.", field=key)
    if lowered in _RESERVED:
        raise InvalidIntent(f"The property {key!r} cannot be set on the table: {_RESERVED[lowered]}.", field=key)
    if key == "clusteringColumns":
        raise InvalidIntent(f"{key} is set by naming the columns (ALTER TABLE ... CLUSTER BY in Spark).", field=key)
    if not lowered.startswith("delta."):
        return key
    if lowered.startswith(_FREE_PREFIX):
        return lowered[: len(_FREE_PREFIX)] + key[len(_FREE_PREFIX) :]
    if lowered.startswith(_CONSTRAINT_PREFIX):
        raise InvalidIntent(
            f"{key} is a CHECK constraint: rows are held to it, so it comes and goes by add-constraint and "
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
    """The name of a feature in its true case.

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


def read_wishes(checked: Mapping[str, str]) -> PropertyWishes:
    """Sort out what properties, as `check_properties` returns them, ask for."""
    prefix = FEATURE_PREFIX
    features = tuple(_KNOWN_FEATURES[key[len(prefix) :]] for key in checked if key.startswith(prefix))
    apart = ("comment", "delta.minReaderVersion", "delta.minWriterVersion", "delta.ignoreProtocolDefaults")
    kept = {key: value for key, value in checked.items() if key not in apart and not key.startswith(prefix)}
    reader, writer = checked.get("delta.minReaderVersion"), checked.get("delta.minWriterVersion")
    return PropertyWishes(
        kept,
        features,
        None if reader is None else int(reader),
        None if writer is None else int(writer),
        "comment" in checked,
        checked.get("comment"),
    )


def features_of(configuration: Mapping[str, str]) -> tuple[str, ...]:
    """The features that properties switch on."""
    items = ((PROPERTIES.get(key.lower()), value) for key, value in configuration.items())
    found = {item.feature: None for item, value in items if item is not None and item.switches_on(value)}
    return tuple(name for name in found if name is not None)


def switch_of(feature: str) -> tuple[str, str] | None:
    """The property and the value that switch a feature on; None where no property does."""
    for item in PROPERTIES.values():
        if item.feature == feature and item.why_fixed is None:
            return item.key, item.on[0]
    return None


def statistics_columns_of(value: str) -> tuple[tuple[str, ...], ...]:
    """The columns in a value of ``delta.dataSkippingStatsColumns``; none in an empty one.

    Raises:
        InvalidIntent: It is no list of columns.
    """
    if not value.strip():
        return ()
    pieces, quoted = [""], False
    for letter in value:
        quoted ^= letter == "`"
        if letter == "," and not quoted:
            pieces.append("")
        else:
            pieces[-1] += letter
    try:
        return tuple(parse_column(piece.strip()) for piece in pieces)
    except ValueError as error:
        raise _bad("delta.dataSkippingStatsColumns", value, ["a, b.c, `odd name`"]) from error


def check_formats(configuration: Mapping[str, str]) -> None:
    """Check that other formats can show what the table holds.

    Raises:
        InvalidIntent: Iceberg is asked for without a layout for it, or Hudi beside deletion vectors.
    """
    formats = configuration.get(FORMATS_KEY, "").split(",")
    on = {key for key, value in configuration.items() if value.lower() == "true"}
    if "iceberg" in formats and not any(key.startswith("delta.enableIcebergCompatV") for key in on):
        raise InvalidIntent(f"{FORMATS_KEY} names iceberg, which needs delta.enableIcebergCompatV2.", field=FORMATS_KEY)
    if "hudi" in formats and "delta.enableDeletionVectors" in on:
        raise InvalidIntent(f"{FORMATS_KEY} names hudi, which knows no deletion vectors.", field=FORMATS_KEY)


def _check(name: str, value: str) -> None:
    if name.startswith(FEATURE_PREFIX):
        _check_feature(name, value)
        return
    item = PROPERTIES.get(name.lower())
    if item is None:
        return
    if item.why_fixed is not None:
        raise InvalidIntent(f"The property {item.key} cannot be set by hand: {item.why_fixed}.", field=item.key)
    _CHECKS[item.kind](item, value)


def _check_feature(name: str, value: str) -> None:
    feature = _KNOWN_FEATURES[name[len(FEATURE_PREFIX) :]]
    if value.lower() not in ("supported", "enabled"):
        raise _bad(f"{FEATURE_PREFIX}{feature}", value, ["supported"])
    if feature in CATALOG_FEATURES:
        raise InvalidIntent(f"{feature} comes with the catalog that creates the table, not by a property.", field=name)
    if feature == "clustering":
        raise InvalidIntent(
            "Clustering starts by naming the columns (ALTER TABLE ... CLUSTER BY in Spark), not by a property.",
            field=name,
        )


def _check_choice(item: TableProperty, value: str) -> None:
    allowed: Iterable[str] = item.allowed if item.exact else [word.lower() for word in item.allowed]
    if (value if item.exact else value.lower()) not in allowed:
        raise _bad(item.key, value, list(item.allowed))


def _check_choices(item: TableProperty, value: str) -> None:
    named = value.split(",") if value else []
    if not set(named) <= set(item.allowed):
        raise _bad(item.key, value, [f"a list, with commas between, of {' and '.join(item.allowed)}"])


def _check_integer(item: TableProperty, value: str) -> None:
    low = 0 if item.minimum is None else item.minimum
    high = _LARGEST if item.maximum is None else item.maximum
    bounds = f"an integer from {low}" + (f" to {high}" if item.maximum is not None else "")
    digits = value[value.startswith(("-", "+")) :]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS) or not low <= int(value) <= high:
        raise _bad(item.key, value, [bounds])


def _check_interval(item: TableProperty, value: str) -> None:
    wanted = ["an interval such as 'interval 7 days', without months and years"]
    try:
        length = interval({item.key: value}, item.key, timedelta())
    except CorruptTable as error:
        raise _bad(item.key, value, wanted) from error
    if length < timedelta():
        raise _bad(item.key, value, wanted)


def _check_columns(_item: TableProperty, value: str) -> None:
    columns = statistics_columns_of(value)
    lowered = [tuple(part.lower() for part in column) for column in columns]
    twice = [column for place, column in enumerate(lowered) if column in lowered[:place]]
    if twice:
        raise InvalidIntent(
            f"delta.dataSkippingStatsColumns names {'.'.join(twice[0])} twice.", field="delta.dataSkippingStatsColumns"
        )


def _check_text(item: TableProperty, value: str) -> None:
    if item.form is not None and re.fullmatch(item.form, value) is None:
        raise _bad(item.key, value, list(item.allowed))


_CHECKS: Final = {
    "boolean": _check_choice,
    "choice": _check_choice,
    "choices": _check_choices,
    "integer": _check_integer,
    "interval": _check_interval,
    "columns": _check_columns,
    "text": _check_text,
}


def _bad(key: str, value: str, allowed: list[str]) -> InvalidIntent:
    return InvalidIntent(
        f"The property {key} cannot be {value!r}; it must be {' or '.join(allowed)}.",
        field=key,
        found=value,
        allowed=allowed,
    )
