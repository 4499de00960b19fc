"""Keys that a catalog shows among a table's properties and derives itself: no log has them, and none is sent."""

from __future__ import annotations

from typing import Final

from explorer.core.protocol.table_properties.registry import FEATURE_PREFIX, MIN_READER_VERSION, MIN_WRITER_VERSION

DERIVED: Final = (
    FEATURE_PREFIX,
    MIN_READER_VERSION.key,
    MIN_WRITER_VERSION.key,
    "delta.clusteringColumns",
    "delta.rowTracking.rowIdHighWaterMark",
    "delta.lastUpdateVersion",
    "delta.lastCommitTimestamp",
)
"""How such keys begin."""
