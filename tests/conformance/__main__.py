"""Print how every row of the protocol stands.

``--renew`` runs the tests that the record does not know as they are now, some minutes for all of them, and then writes
what ``--write`` writes: the page of the docs and the ledger.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.conformance.checklist import READING_ROLES, write_ledger
from tests.conformance.plugin import OPTION
from tests.conformance.record import load_record, marked_tests, stale_tests
from tests.conformance.report import PAGE, STANDINGS, ledger_after, page, standings, table
from tests.support.shared_tables import REPOSITORY


def main(arguments: list[str] | None = None) -> int:
    """Print the chosen rows and the counts."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renew", action="store_true", help="run what is stale in the record, then --write")
    parser.add_argument("--whole", action="store_true", help="with --renew: run every test that names rows")
    parser.add_argument("--write", action="store_true", help="renew docs/conformance.md and the ledger")
    parser.add_argument("--standing", choices=STANDINGS, help="only rows that stand so")
    parser.add_argument("--reading", action="store_true", help=f"only rows that bind {', '.join(READING_ROLES)}")
    parser.add_argument("--area", help="only rows of one area, for example CKPT")
    options = parser.parse_args(arguments)
    status = _renew(options.whole) if options.renew else 0
    rows = standings()
    if options.write or options.renew:
        write_ledger(ledger_after(rows))
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(rows), "utf-8")
    chosen = [
        found
        for found in rows
        if options.standing in (None, found.standing)
        and options.area in (None, found.row.area)
        and (found.row.binds_reading or not options.reading)
    ]
    print(*table(chosen), sep="\n")
    return status


def _renew(whole: bool) -> int:
    """Run the tests whose record is stale, or all; the exit status of pytest, 0 if there is none to run."""
    source = marked_tests()
    stale = sorted(source) if whole else [test for test in stale_tests(load_record(), source) if test in source]
    if not stale:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", OPTION, *stale]
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
