"""``python -m tests.notebooks``: run the notebooks on a new demo warehouse; their pages go to docs/notebooks.

With names (``8-erasure``) only these are run.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from explorer.demo import build_warehouse
from tests.notebooks.places import jupyter_places
from tests.notebooks.rendering import COMMAND, PAGES, rendered
from tests.notebooks.stories import names, running_kernel

parser = argparse.ArgumentParser(prog=COMMAND, description="Run the notebooks and write their pages.")
parser.add_argument("names", nargs="*", metavar="NAME", help="a notebook; else all")
wanted = parser.parse_args().names or names()
with tempfile.TemporaryDirectory() as home:
    warehouse = Path(home, "demo")
    build_warehouse(warehouse, datetime.now(UTC).date())
    PAGES.mkdir(exist_ok=True)
    with jupyter_places(Path(home), warehouse), running_kernel(Path(home)) as kernel:
        for name in wanted:
            run = kernel.run(name)
            if faults := run.failures() | run.noise():
                raise SystemExit(f"{name}: {faults}")
            (PAGES / f"{name}.md").write_text(rendered(name, run, warehouse), encoding="utf-8")
            print(PAGES / f"{name}.md")
