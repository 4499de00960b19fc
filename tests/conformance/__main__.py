"""Print the standing of every row of the protocol, with its tests."""

from __future__ import annotations

import argparse

from tests.conformance.checklist import READING_ROLES, write_ledger
from tests.conformance.report import PAGE, STANDINGS, ledger_after, page, standings, table


def main(arguments: list[str] | None = None) -> None:
    """Print the chosen rows and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew docs/conformance.md and the ledger")
    parser.add_argument("--standing", choices=STANDINGS, help="only rows of this standing")
    parser.add_argument("--reading", action="store_true", help=f"only rows that bind {', '.join(READING_ROLES)}")
    parser.add_argument("--area", help="only rows of one area, for example CKPT")
    options = parser.parse_args(arguments)
    rows = standings()
    if options.write:
        write_ledger(ledger_after(rows))
        PAGE.write_text(page(rows), "utf-8")
    chosen = [
        each
        for each in rows
        if options.standing in (None, each.standing)
        and options.area in (None, each.row.area)
        and (each.row.binds_reading or not options.reading)
    ]
    print(*table(chosen), sep="\n")


if __name__ == "__main__":
    main()
