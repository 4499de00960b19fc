"""Row tracking: whether rows have stable ids, and where these are stored.

Protocol section: Row Tracking. Invariants: the feature must be supported for its properties to mean anything
(ROWTRACK-001); a row's id is the materialised one where the file has it, else the file's base row id plus the row's
position (ROWTRACK-006); the materialized columns are not columns of the table (ROWTRACK-007).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.registry import (
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
)

DOMAIN: Final = "delta.rowTracking"


class RowTracking(msgspec.Struct, frozen=True):
    """Row tracking at one version.

    Attributes:
        supported: The protocol lists the feature: writers give new files base row ids, unless suspended.
        enabled: Readers may rely on every row having an id.
        suspended: A property disables new ids.
        row_id_column, row_commit_version_column: Physical names of the columns in data files with the ids and
            versions of moved rows; None if not set.
        high_water_mark: The highest row id given so far; None before the first.
    """

    supported: bool
    enabled: bool
    suspended: bool
    row_id_column: str | None
    row_commit_version_column: str | None
    high_water_mark: int | None

    @property
    def last_id(self) -> int:
        """The highest row id given so far by the mark, -1 before the first."""
        return -1 if self.high_water_mark is None else self.high_water_mark


class _Mark(msgspec.Struct):
    row_id_high_water_mark: int = msgspec.field(name="rowIdHighWaterMark")


def row_tracking(protocol: Protocol, metadata: Metadata, domains: Mapping[str, str]) -> RowTracking:
    """Read row tracking from the state of a version.

    Raises:
        CorruptTable: A property is neither true nor false, or the domain lacks the mark.
    """
    supported = "rowTracking" in active_features(protocol)
    configuration = metadata.configuration
    return RowTracking(
        supported,
        supported and ROW_TRACKING.of(configuration),
        supported and ROW_TRACKING_SUSPENDED.of(configuration),
        configuration.get(ROW_ID_COLUMN.key),
        configuration.get(ROW_COMMIT_VERSION_COLUMN.key),
        recorded_high_water_mark(domains.get(DOMAIN)),
    )


def recorded_high_water_mark(configuration: str | None) -> int | None:
    """Return the highest row id that the configuration of the domain states; None without one.

    Raises:
        CorruptTable: It lacks the mark.
    """
    if configuration is None:
        return None
    try:
        return msgspec.json.decode(configuration, type=_Mark).row_id_high_water_mark
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CorruptTable(
            f"The domain {DOMAIN} does not contain rowIdHighWaterMark ({error}), so the free row ids are not known. "
            "A faulty client wrote it.",
            found=configuration,
        ) from error
