"""The reference's statements that write rows, how many are compared, and what differs.

``python -m tests.golden.data_commands`` prints it, in Markdown, from the lists that
`tests.spark.writes.test_data_commands` goes by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tests.spark.writes.test_data_commands import COMPARED, STATEMENTS
from tests.support.comparison.data_commands import COMMANDS, UNSAID, DataCommand
from tests.support.comparison.data_differences import DATA_DIFFERENCES

__all__ = ["page"]

_SHOWN: Final = 80
"""How many letters of a statement are shown."""
_LOST: Final = "What it found or what it left is gone: a later step cleaned the log up or vacuumed the files."
_HEAD: Final = """# Statements that write rows, beside the reference

The reference tables were written by delta-spark, statement by statement. Each statement that writes rows, or was
refused, is done again as an intent on a copy of the table as it stood before. Compared with what the reference left are
the rows and the change feed; row ids and commit versions; bounds, null counts, and row counts of the added files (a
highest timestamp is cut off at milliseconds there, and rounded up here); removed files, masked rows, partitions, marks,
and other actions; operation, isolation level, tags, and parameters (of conditions, that there is one); metrics but for
bytes, times, and numbers of files. What the reference refused must be refused for the same reason, and where it changed
nothing nothing may change. Statements that make a table with its rows are not among these.

`tests/spark/writes/test_data_commands.py` does it: some of the statements on every run, all of them under
`make prove`. A difference that is not listed here fails, and so does one that is listed and gone. The reference tables
hold no stream; `tests/spark/writes/test_batches.py` tries those. A number after a table is that of its statement.

| command | statements | compared | of these different | not compared |
|---|---|---|---|---|
"""


def page() -> str:
    """The page, from the reference tables."""
    compared = {one.step.name for one in COMPARED}
    lines = [_HEAD.rstrip("\n")]
    rows = [(command, [one for one in STATEMENTS if one.command == command]) for command in COMMANDS]
    for name, found in [*rows, ("all", STATEMENTS)]:
        known = [one for one in found if one.step.name in compared]
        different = sum(one.step.name in DATA_DIFFERENCES for one in known)
        lines.append(f"| {name} | {len(found)} | {len(known)} | {different} | {len(found) - len(known)} |")
    lines += ["", "## What differs", "", "| why | in what | statements |", "|---|---|---|"]
    known = {one.step.name: DATA_DIFFERENCES.get(one.step.name) for one in COMPARED}
    lines += _by_reason(COMPARED, {name: (a.reason, ", ".join(a.parts)) for name, a in known.items() if a is not None})
    lines += ["", "## What is not compared", "", "| why | statements |", "|---|---|"]
    names = (one.step.name for one in STATEMENTS)
    lines += _by_reason(STATEMENTS, {name: (UNSAID.get(name, _LOST),) for name in names if name not in compared})
    return "\n".join(lines) + "\n"


def _by_reason(statements: list[DataCommand], reasons: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """A line for each reason, with the text of its first statement, and the names of all."""
    groups: defaultdict[tuple[str, ...], list[DataCommand]] = defaultdict(list)
    for one in _by_command(statements):
        if one.step.name in reasons:
            groups[reasons[one.step.name]].append(one)
    for cells, (first, *others) in groups.items():
        names = ", ".join([f"{first.step.name} {_text(first)}", *(one.step.name for one in others)])
        yield f"| {' | '.join(cells)} | {names} |"


def _text(one: DataCommand) -> str:
    """The beginning of the statement, as code."""
    text = one.step.text.replace("delta.`<TABLE>`", "t").replace("delta.`{path}`", "t").replace("|", "\\|")
    return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'}`"


def _by_command(statements: list[DataCommand]) -> list[DataCommand]:
    order = list(COMMANDS)
    return sorted(statements, key=lambda one: order.index(one.command))


if __name__ == "__main__":
    print(page(), end="")
