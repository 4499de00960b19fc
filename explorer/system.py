"""This machine and this program, as the core needs them: clock, identifiers, waiting, and the name in commits."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from typing import Final

from explorer.core.transaction.commit_info import ENGINE
from explorer.core.transaction.context import Context
from explorer.core.transaction.row_engine import RowEngine
from explorer.version import VERSION

__all__ = ["ENGINE_INFO", "system_context"]

ENGINE_INFO: Final = f"{ENGINE}/{VERSION}"
"""How commits name the program that wrote them."""


def system_context(rows: RowEngine | None = None, check_source: Callable[[str], None] | None = None) -> Context:
    """Return the context of this process.

    Args:
        rows: The engine of rows.
        check_source: Refuses a source of rows that may not be read.
    """
    return Context(
        clock=lambda: time.time_ns() // 1_000_000,
        new_uuid=uuid.uuid4,
        sleep=time.sleep,
        chance=random.SystemRandom().random,
        engine_info=ENGINE_INFO,
        rows=rows,
        check_source=check_source,
    )
