"""What planning and committing get from outside: the clock, identifiers, waiting, and the engine of rows.

Invariants: the core reads no clock and starts nothing; the code that opens a table passes these in.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from explorer.core.compatibility.my_clients import MyClient
from explorer.core.errors import EngineUnavailable
from explorer.core.transaction.proposal import Circumstances
from explorer.core.transaction.row_engine import RowEngine

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """The world outside the core.

    Attributes:
        clock: Gives the present in ms since the epoch.
        new_uuid: Gives a fresh UUID.
        sleep: Waits some seconds.
        chance: Gives a random number from 0 to 1, for waits that differ between writers.
        engine_info: The name of the program in its commits.
        rows: The engine that reads and writes rows; None if there is none.
        check_source: Refuses a source of rows that may not be read; None allows every source.
        clients: The clients in use, of which consequences speak first.
    """

    clock: Callable[[], int]
    new_uuid: Callable[[], uuid.UUID]
    sleep: Callable[[float], None]
    chance: Callable[[], float]
    engine_info: str
    rows: RowEngine | None = None
    check_source: Callable[[str], None] | None = None
    clients: tuple[MyClient, ...] = ()

    def new_id(self) -> str:
        """A fresh UUID as text."""
        return str(self.new_uuid())

    def row_engine(self, kind: str) -> RowEngine:
        """The engine of rows.

        Args:
            kind: What needs it, for the error.

        Raises:
            EngineUnavailable: There is none.
        """
        if self.rows is None:
            raise EngineUnavailable(f"{kind} needs a row engine, but this table was opened without one.")
        return self.rows

    def circumstances(self) -> Circumstances:
        """The present and fresh identifiers, for a proposal."""
        return Circumstances(now=self.clock(), new_id=self.new_id)
