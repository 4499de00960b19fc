"""The requirements of the protocol, and which of them are refused or left open on purpose.

``checklist.csv`` has a row for each requirement; ``exceptions.csv`` names the rows that no test proves and says why;
``ledger.txt`` names the rows that were proved once and may not lose their proof.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

__all__ = [
    "LEVELS",
    "READING_ROLES",
    "ROLES",
    "ConformanceRow",
    "Level",
    "RowException",
    "load_checklist",
    "load_exceptions",
    "load_ledger",
    "write_ledger",
]

Level = Literal["must", "should", "may"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
READING_ROLES: Final = ("reader", "replay", "cdf-reader")
ROLES: Final = (*READING_ROLES, "log-writer", "checkpoint-writer", "data-writer")

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """One requirement.

    Attributes:
        id: Area and number.
        area: Part of the protocol.
        roles: Whom it binds.
        level: How strongly.
        requirement: What is asked, in our own words.
        editions: Texts it stands in: ``000`` of reader version 1 and writer version 4, ``002`` with column mapping
            (2 and 5), ``001`` with identity columns (2 and 6), ``004`` with deletion vectors (3 and 7), ``current``
            with table features; ``rfc`` is a proposal, ``impl`` what the reference does where they are silent.
    """

    id: str
    area: str
    roles: tuple[str, ...]
    level: Level
    requirement: str
    editions: tuple[str, ...]

    @property
    def binds_reading(self) -> bool:
        """True if it is asked of a reader, a replayer or a reader of the change feed."""
        return any(role in READING_ROLES for role in self.roles)


@dataclass(frozen=True, slots=True)
class RowException:
    """A row that is refused on purpose (a test shows the refusal) or not reached yet, and why."""

    id: str
    standing: Literal["refused", "open"]
    reason: str


def load_checklist() -> dict[str, ConformanceRow]:
    """All rows by id, in the order of the file."""
    return {row.id: row for row in map(_row, _records("checklist.csv"))}


def load_exceptions() -> dict[str, RowException]:
    """The rows that are refused or open on purpose, by id."""
    return {found.id: found for found in map(_exception, _records("exceptions.csv"))}


def load_ledger() -> list[str]:
    """Ids of rows whose proof may not be lost."""
    return (_FOLDER / "ledger.txt").read_text("utf-8").split()


def write_ledger(ids: Iterable[str]) -> None:
    """Replace the ledger, sorted."""
    (_FOLDER / "ledger.txt").write_text("".join(f"{name}\n" for name in sorted(ids)), "utf-8")


def _records(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _row(record: dict[str, str]) -> ConformanceRow:
    level = next(level for level in LEVELS if level == record["level"])
    roles, editions = tuple(record["roles"].split(";")), tuple(record["editions"].split(";"))
    return ConformanceRow(record["id"], record["area"], roles, level, record["requirement"], editions)


def _exception(record: dict[str, str]) -> RowException:
    standing: Literal["refused", "open"] = "refused" if record["standing"] == "refused" else "open"
    return RowException(record["id"], standing, record["reason"])
