"""The standing of every row: proved by tests, refused on purpose, or open; as text and as a page of the docs."""

from __future__ import annotations

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
from tests.conformance.record import RecordedTest, load_record
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "RowStanding", "Standing", "ledger_after", "page", "standings", "strengths", "summary", "table"]

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
    """A row, how it stands, the recorded tests that name it and passed, and for what is not covered the reason.

    Attributes:
        needs: What it takes to see the row proved, of ``record.NEEDS``: the needs of the test that needs least, so
            empty if one of them runs on any machine.
    """

    row: ConformanceRow
    standing: Standing
    tests: tuple[str, ...]
    needs: tuple[str, ...]
    reason: str


def standings(record: Mapping[str, RecordedTest] | None = None) -> list[RowStanding]:
    """Every row of the checklist with its standing, in order.

    A row is refused if the list of exceptions says so, covered if a test of the record passed for it, and open
    otherwise.

    Args:
        record: What ran; without it the record that is kept.
    """
    record = load_record() if record is None else record
    exceptions = load_exceptions()
    found = []
    for row in load_checklist().values():
        tests = tuple(sorted(test for test, recorded in record.items() if row.id in recorded.passed))
        needs = min((record[test].needs for test in tests), key=lambda found: (len(found), found), default=())
        exception = exceptions.get(row.id)
        if exception is not None and (exception.standing == "refused" or not tests):
            found.append(RowStanding(row, exception.standing, tests, needs, exception.reason))
        else:
            reason = "" if tests else _BARE if row.binds_reading else _UNREACHED
            found.append(RowStanding(row, "covered" if tests else "open", tests, needs, reason))
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
    yield "Every requirement of the protocol texts, and the tests that ran and passed for it. This page is generated"
    yield "from the checklist and `tests/conformance/record.json`, which a run of the tests writes:"
    yield "`python -m tests.conformance --renew` runs the tests that changed since. A test fails when the page or the"
    yield "record is out of date."
    yield ""
    yield "A row is *covered* if tests prove it, *refused* if a table that needs it is turned away by name on purpose"
    yield "(tests show that), and *open* if nothing of the program reaches it yet. Behind it is what it takes to see it"
    yield "proved, where no test of it runs on any machine: Spark, other Delta readers and writers (`interop`), tables"
    yield "of others (`golden`, `reference`)."
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
    yield "The texts:"
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
    standing = found.standing + (f" ({', '.join(found.needs)})" if found.needs else "")
    standing += "" if found.standing == "covered" else f": {found.reason}"
    cells = (row.id, row.level, ", ".join(row.roles), row.requirement, ", ".join(row.editions), standing, tests)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
