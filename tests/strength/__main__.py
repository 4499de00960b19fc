"""How strong the tests of the core are: ``python -m tests.strength``.

It writes docs/strength.json, and docs/strength.md out of it. ``branches`` takes forty minutes, each part of ``mutants``
up to half an hour; ``page`` makes the page again after survivors were judged. Each part of ``mutants`` is recorded when
it has ended; without names those parts run that have no record or one older than their code, and ``--all`` runs every
one again.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from tests.strength import branches, mutants
from tests.strength.report import PAGE, RECORD, page


def main() -> None:
    """Run what was asked for, and write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.strength", description=__doc__)
    parser.add_argument("what", choices=("branches", "mutants", "page"))
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of mutants: {', '.join(mutants.PARTS)}; else those that are due"
    )
    parser.add_argument("--all", action="store_true", help="every part of mutants")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in mutants.PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: {', '.join(mutants.PARTS)}")
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    if chosen.what == "branches":
        record["branches"] = {"at": _today(), **branches.measure()}
    elif chosen.what == "mutants":
        due = list(mutants.PARTS) if chosen.all else mutants.due_parts(record.get("mutants", {}))
        for name in chosen.parts or due:
            record.setdefault("mutants", {})[name] = {"at": _today(), **mutants.measure(name)}
            RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(record), "utf-8")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    main()
