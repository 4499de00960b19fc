"""The standing of every row: proved by tests, refused on purpose, or open; as text and as a page of the docs.

It is read from the tests' source; that each row is proved by a test that passes is what every whole run checks
(``plugin.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from tests.conformance.proofs import Proof, load_proofs
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "RowStanding", "Standing", "ledger_after", "page", "standings", "strengths", "summary", "table"]

Standing = Literal["covered", "refused", "open"]
STANDINGS: Final[tuple[Standing, ...]] = ("covered", "refused", "open")
PAGE: Final = REPOSITORY / "docs" / "conformance.md"

_UNREACHED: Final = "binds writers; not reached yet"
_BARE: Final = "no test and no reason"


@dataclass(frozen=True, slots=True)
class RowStanding:
    """A row, its standing, the tests that name it, and the reason where it is not covered.

    Attributes:
        needs: What it takes to see the row proved, of ``proofs.NEEDS``: the needs of the test that needs least, so
            empty if one of them runs on any machine.
    """

    row: ConformanceRow
    standing: Standing
    tests: tuple[str, ...]
    needs: tuple[str, ...]
    reason: str


def standings(proofs: Mapping[str, Proof] | None = None) -> list[RowStanding]:
    """Return every row of the checklist with its standing, in order.

    A row is refused if the list of exceptions says so, covered if a test names it, and open otherwise.

    Args:
        proofs: The tests that name rows; None reads them from the source.
    """
    proofs = load_proofs() if proofs is None else proofs
    exceptions = load_exceptions()
    rows = []
    for row in load_checklist().values():
        tests = tuple(sorted(test for test, proof in proofs.items() if row.id in proof.rows))
        needs = min((proofs[test].needs for test in tests), key=lambda needs: (len(needs), needs), default=())
        exception = exceptions.get(row.id)
        if exception is not None and (exception.standing == "refused" or not tests):
            rows.append(RowStanding(row, exception.standing, tests, needs, exception.reason))
        else:
            reason = "" if tests else _BARE if row.binds_reading else _UNREACHED
            rows.append(RowStanding(row, "covered" if tests else "open", tests, needs, reason))
    return rows


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


def strengths(rows: Sequence[RowStanding]) -> list[tuple[str, int]]:
    """(words, how many rows) for what the rows with tests rest on."""
    tested = [found for found in rows if found.tests]
    return [
        ("proved by a test that runs on any machine", sum(not found.needs for found in tested)),
        ("proved only with Spark", sum("spark" in found.needs for found in tested)),
        ("proved only beside other Delta readers and writers", sum("interop" in found.needs for found in tested)),
        ("proved only on tables of others", sum(bool({"golden", "reference"} & {*found.needs}) for found in tested)),
        ("that rest on one test", sum(len(found.tests) == 1 for found in tested)),
    ]


def table(rows: Sequence[RowStanding]) -> Iterator[str]:
    """The rows as lines of text, and the counts."""
    for found in rows:
        why = ", ".join(test.removeprefix("tests/") for test in found.tests) or found.reason
        yield f"{found.row.id:<14}{found.row.level:<8}{found.standing:<9}{why}"
    yield ""
    yield f"{'role':<20}{'level':<8}{'covered':>8}{'refused':>8}{'open':>8}"
    for role, level, numbers in summary(rows):
        yield f"{role:<20}{level:<8}" + "".join(f"{number:>8}" for number in numbers)
    yield ""
    yield from (f"{number:>5} {name}" for name, number in strengths(rows))


def page(rows: Sequence[RowStanding]) -> str:
    """The page ``docs/conformance.md``."""
    return "\n".join(_page(rows)) + "\n"


def _counts(rows: Sequence[RowStanding]) -> list[int]:
    return [sum(found.standing == standing for found in rows) for standing in STANDINGS]


def _page(rows: Sequence[RowStanding]) -> Iterator[str]:
    yield "# Conformance to the Delta transaction-log protocol"
    yield ""
    yield "The editions of the protocol, its proposals, and what the reference does where they are silent were read"
    yield "into numbered requirements, `tests/conformance/checklist.csv`. Tests name the rows that they prove, and a"
    yield "run of all tests in CI fails if none of them passed for a row. This page is generated, and a test compares"
    yield "it with the tests' source: `python -m tests.conformance --write`."
    yield "`python -m tests.conformance --area CKPT` lists the rows of an area with their tests."
    yield ""
    yield "A row is *covered* if tests prove it, *refused* if a table that needs it is refused by name on purpose"
    yield "(tests show that), and *open* if the program does not reach it."
    yield ""
    yield "| Role | Level | Covered | Refused | Open |"
    yield "|---|---|---:|---:|---:|"
    for role, level, numbers in summary(rows):
        yield f"| {role} | {level} | " + " | ".join(map(str, numbers)) + " |"
    yield ""
    yield "A row that binds several roles counts for each."
    yield ""
    yield "| Covered or refused rows | |"
    yield "|---|---:|"
    for name, number in strengths(rows):
        yield f"| {name} | {number} |"
    yield ""
    areas = Counter(each.row.area for each in rows if each.standing == "covered")
    yield "Covered rows by area: " + ", ".join(f"{area} {count}" for area, count in areas.items()) + "."
    yield ""
    yield "The rows that are not covered:"
    yield ""
    open_rows = [each for each in rows if each.standing != "covered"]
    for standing, reason in dict.fromkeys((each.standing, each.reason) for each in open_rows):
        yield f"- {standing}: {reason}"
        alike = [each.row for each in open_rows if (each.standing, each.reason) == (standing, reason)]
        yield from (f"  - {row.id}, {row.level}: {row.requirement}" for row in alike)
