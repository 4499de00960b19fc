"""Run proofs in their whole dose, and renew docs/proofs.md: ``python -m tests.prove [NAME...]``.

Without names it runs those that are due: never run here, failed when they ran last, or changed since. Each is recorded
in build/proofs.json when it has ended, so a run that is interrupted resumes where it stopped. ``--all`` runs every one
again, ``--list`` says what each does, ``--due`` lists those that are due, and ``--page`` writes the page again; these
run nothing. ``--whole`` is
``make prove``: it goes on with branches and mutants, and records how the whole went. The exit status is 1 if a test
failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

from tests.prove.plugin import OPTION
from tests.prove.proofs import PROOFS
from tests.prove.record import WholeRun, due_proofs, load_record, load_whole, write_whole
from tests.prove.report import PAGE, page
from tests.support.shared_tables import REPOSITORY
from tests.support.side_by_side import SIDE_BY_SIDE

# Those have processes and servers of their own, and say as they go on what they found.
ALONE = "tests/prove/"


def main() -> int:
    """Run what was asked for."""
    names = [proof.name for proof in PROOFS]
    parser = argparse.ArgumentParser(
        prog="python -m tests.prove", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; else those that are due")
    parser.add_argument("--all", action="store_true", help="run every proof")
    parser.add_argument("--list", action="store_true", help="only say what each proof does, and where its tests are")
    parser.add_argument("--due", action="store_true", help="only list the proofs that are due")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--whole", action="store_true", help="also measure branches and run the mutants that are due")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in names]
    if unknown:
        parser.error(f"there is no proof {unknown[0]!r}: {', '.join(names)}")
    if chosen.list:
        print("\n".join(f"{proof.name}  {proof.tests}\n    {proof.how}" for proof in PROOFS))
        return 0
    due = chosen.names or (names if chosen.all else due_proofs(load_record()))
    if chosen.due:
        print("\n".join(due))
        return 0
    started = time.monotonic()
    failed = []
    for proof in PROOFS if not chosen.page else ():
        if proof.name in due:
            print(f"{proof.name}: {proof.tests}", flush=True)
            beside = () if proof.tests.startswith(ALONE) else SIDE_BY_SIDE
            failed += [proof.name] * _run(proof.tests, *beside)
            PAGE.write_text(page(load_record(), load_whole()), "utf-8")
    if chosen.whole:
        failed += [what for what in ("branches", "mutants") if _failed([sys.executable, "-m", "tests.strength", what])]
        took = round(time.monotonic() - started)
        write_whole(WholeRun(datetime.now(UTC).date().isoformat(), took, len(due), tuple(failed)))
    PAGE.write_text(page(load_record(), load_whole()), "utf-8")
    return int(bool(failed))


def _run(tests: str, *options: str) -> bool:
    """Run the tests of a proof; True if one failed."""
    command = [sys.executable, "-m", "pytest", OPTION, "--timeout", "3600", *options, tests]
    return _failed(command, HYPOTHESIS_PROFILE="prove")


def _failed(command: list[str], **environment: str) -> bool:
    return subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **environment}, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
