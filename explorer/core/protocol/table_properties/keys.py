"""Keys of properties as texts, until every module reads properties through their rows."""

from __future__ import annotations

from typing import Final

from explorer.core.protocol.table_properties import registry

__all__ = ["CLEANUP", "ENABLE_CDF", "ENABLE_ICT", "FILE_RETENTION", "ICT_TIMESTAMP", "ICT_VERSION", "LOG_RETENTION"]

FILE_RETENTION: Final = registry.DELETED_FILE_RETENTION.key
LOG_RETENTION: Final = registry.LOG_RETENTION.key
CLEANUP: Final = registry.EXPIRED_LOG_CLEANUP.key

ENABLE_ICT: Final = registry.IN_COMMIT_TIMESTAMPS.key
ICT_VERSION: Final = registry.ICT_ENABLEMENT_VERSION.key
ICT_TIMESTAMP: Final = registry.ICT_ENABLEMENT_TIMESTAMP.key
ENABLE_CDF: Final = registry.CHANGE_DATA_FEED.key
