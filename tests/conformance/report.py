"""The standing of every row: proved by tests, refused on purpose, or open; as text and as a page of the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.conformance.checklist import (
    LEVELS,
    ROLES,
    ConformanceRow,
    load_checklist,
    load_exceptions,
    load_ledger,
)
from tests.conformance.proofs import load_proofs
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "RowStanding", "Standing", "ledger_after", "page", "standings", "summary", "table"]

Standing = Literal["covered", "refused", "open"]
STANDINGS: Final[tuple[Standing, ...]] = ("covered", "refused", "open")
PAGE: Final = REPOSITORY / "docs" / "conformance.md"

_EDITIONS: Final = {
    "000": "the edition of reader version 1 and writer version 4",
    "002": "the edition that brings column mapping (2 and 5)",
    "001": "the edition that brings identity columns (2 and 6)",
    "004": "the edition that brings deletion vectors (3 and 7)",
    "current": "the text as it stands today, with table features",
    "rfc": "a proposal that is not part of the text yet",
    "impl": "what the reference implementation does where the texts are silent",
}
_UNREACHED: Final = "binds writers; not reached yet"
_BARE: Final = "no test and no reason"


@dataclass(frozen=True, slots=True)
class RowStanding:
    """A row, how it stands, the tests that name it, and for what is not covered the reason."""

    row: ConformanceRow
    standing: Standing
    tests: tuple[str, ...]
    reason: str


def standings() -> list[RowStanding]:
    """Every row of the checklist with its standing, in order.

    A row is refused if the list of exceptions says so, covered if a test names it, and open otherwise.
    """
    proofs, exceptions = load_proofs(), load_exceptions()
    found = []
    for row in load_checklist().values():
        tests, exception = proofs.get(row.id, ()), exceptions.get(row.id)
        if exception is not None and (exception.standing == "refused" or not tests):
            found.append(RowStanding(row, exception.standing, tests, exception.reason))
        else:
            reason = "" if tests else _BARE if row.binds_reading else _UNREACHED
            found.append(RowStanding(row, "covered" if tests else "open", tests, reason))
    return found


def ledger_after(rows: Sequence[RowStanding]) -> set[str]:
    """The ledger with what is covered or refused now added; nothing ever leaves it but by hand."""
    return {*load_ledger(), *(found.row.id for found in rows if found.tests and found.row.level != "may")}


def summary(rows: Sequence[RowStanding]) -> list[tuple[str, str, list[int]]]:
    """(role, level, counts by standing) for each role and level that has rows; a row counts for each of its roles."""
    counts = []
    for role in ROLES:
        for level in LEVELS:
            chosen = [found for found in rows if role in found.row.roles and found.row.level == level]
            if chosen:
                counts.append((role, str(level), _counts(chosen)))
    return [*counts, ("all rows", "", _counts(rows))]


def table(rows: Sequence[RowStanding]) -> Iterator[str]:
    """The rows as lines of text, and the counts."""
    for found in rows:
        why = ", ".join(test.removeprefix("tests/") for test in found.tests) or found.reason
        yield f"{found.row.id:<14}{found.row.level:<8}{found.standing:<9}{why}"
    yield ""
    yield f"{'role':<20}{'level':<8}{'covered':>8}{'refused':>8}{'open':>8}"
    for role, level, numbers in summary(rows):
        yield f"{role:<20}{level:<8}" + "".join(f"{number:>8}" for number in numbers)


def page(rows: Sequence[RowStanding]) -> str:
    """The page ``docs/conformance.md``."""
    return "\n".join(_page(rows)) + "\n"


def _counts(rows: Sequence[RowStanding]) -> list[int]:
    return [sum(found.standing == standing for found in rows) for standing in STANDINGS]


def _page(rows: Sequence[RowStanding]) -> Iterator[str]:
    yield "# Conformance to the Delta transaction-log protocol"
    yield ""
    yield "Every requirement of the protocol texts, and the tests that prove it. This page is generated from the"
    yield "checklist and the tests: `python -m tests.conformance --write`. A test fails when it is out of date."
    yield ""
    yield "A row is *covered* if tests prove it, *refused* if a table that needs it is turned away by name on purpose"
    yield "(tests show that), and *open* if nothing of the program reaches it yet."
    yield ""
    yield "| Role | Level | Covered | Refused | Open |"
    yield "|---|---|---:|---:|---:|"
    for role, level, numbers in summary(rows):
        yield f"| {role} | {level} | " + " | ".join(map(str, numbers)) + " |"
    yield ""
    yield "A row that binds several roles counts for each. The texts:"
    yield ""
    yield from (f"- `{name}`: {meaning}" for name, meaning in _EDITIONS.items())
    area = ""
    for found in rows:
        if found.row.area != area:
            area = found.row.area
            yield from ("", f"## {area}", "", "| Row | Level | Binds | Requirement | Texts | Standing | Tests |")
            yield "|---|---|---|---|---|---|---|"
        yield _line(found)


def _line(found: RowStanding) -> str:
    row = found.row
    tests = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in found.tests)
    standing = found.standing if found.standing == "covered" else f"{found.standing}: {found.reason}"
    cells = (row.id, row.level, ", ".join(row.roles), row.requirement, ", ".join(row.editions), standing, tests)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
