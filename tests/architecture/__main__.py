"""``python -m tests.architecture``: hold docs/architecture.md against the code; ``--write`` renews it.

With ``--returns`` it says of each walk how many modules it enters and how often it comes back to one that it had left.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys

from tests.architecture.document import COMMAND, DOCUMENT, renewed
from tests.architecture.walks import recorded, returns, steps

# As in the tests: what is kept of an earlier run would shorten the walks.
os.environ["DELTA_EXPLORER_CACHE"] = "off"
parser = argparse.ArgumentParser(
    prog="python -m tests.architecture", description="Hold docs/architecture.md against the code."
)
parser.add_argument("--write", action="store_true", help="renew docs/architecture.md")
parser.add_argument("--returns", action="store_true", help="count how often each walk comes back to a module")
arguments = parser.parse_args()
if arguments.returns:
    for name, calls in recorded().items():
        modules, back = returns(calls)
        print(f"{name}: {len(steps(calls))} steps, {modules} modules, {back} returns")
    sys.exit()
present = DOCUMENT.read_text(encoding="utf-8")
current = renewed(present)
if arguments.write:
    DOCUMENT.write_text(current, encoding="utf-8")
elif present != current:
    sys.stdout.writelines(
        difflib.unified_diff(present.splitlines(True), current.splitlines(True), "present", "current")
    )
    sys.exit(f"docs/architecture.md does not say what the code is: run {COMMAND}")
