"""Run proofs in their whole dose, and renew docs/proofs.json and docs/proofs.md: ``python -m tests.prove [NAME...]``.

``--page`` writes the page again and runs nothing. The exit status is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from tests.prove.plugin import OPTION
from tests.prove.proofs import PROOFS
from tests.prove.record import load_record
from tests.prove.report import PAGE, page
from tests.support.shared_tables import REPOSITORY

# Those have processes and servers of their own, and say as they go on what they found.
ALONE = "tests/prove/"


def main() -> int:
    """Run what was asked for."""
    names = [proof.name for proof in PROOFS]
    parser = argparse.ArgumentParser(
        prog="python -m tests.prove", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; else all")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in names]
    if unknown:
        parser.error(f"there is no proof {unknown[0]!r}: {', '.join(names)}")
    tests = [proof.tests for proof in PROOFS if proof.name in (chosen.names or names)]
    status = 0
    if not chosen.page:
        beside = [test for test in dict.fromkeys(tests) if not test.startswith(ALONE)]
        alone = [test for test in dict.fromkeys(tests) if test.startswith(ALONE)]
        status |= _run(beside, "--numprocesses", "logical", "--maxprocesses", "4", "--dist", "loadfile")
        status |= _run(alone)
    PAGE.write_text(page(load_record()), "utf-8")
    return status


def _run(tests: list[str], *options: str) -> int:
    """Run tests, if there are any; 1 if one failed."""
    if not tests:
        return 0
    command = [sys.executable, "-m", "pytest", OPTION, "--timeout", "3600", *options, *tests]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "prove"}
    return int(subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
