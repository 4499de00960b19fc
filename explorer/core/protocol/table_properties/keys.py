"""Every ``delta.*`` property: its key and its default, spelt here and nowhere else."""

from __future__ import annotations

from typing import Final

__all__ = ["CLEANUP", "ENABLE_CDF", "ENABLE_ICT", "FILE_RETENTION", "ICT_TIMESTAMP", "ICT_VERSION", "LOG_RETENTION"]

FILE_RETENTION: Final = "delta.deletedFileRetentionDuration"
LOG_RETENTION: Final = "delta.logRetentionDuration"
CLEANUP: Final = "delta.enableExpiredLogCleanup"

ENABLE_ICT: Final = "delta.enableInCommitTimestamps"
ICT_VERSION: Final = "delta.inCommitTimestampEnablementVersion"
ICT_TIMESTAMP: Final = "delta.inCommitTimestampEnablementTimestamp"
ENABLE_CDF: Final = "delta.enableChangeDataFeed"
