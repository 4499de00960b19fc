"""How strong the tests of the core are: ``python -m tests.strength``.

It writes build/strength.json, which has every mutant that survived, and renews the figures of docs/strength.md.
``branches`` takes some ten minutes, each part of ``mutants`` up to half an hour; ``page`` only writes the page again.
Each part of ``mutants`` is recorded when it has ended. Of the named parts, or of every part, those functions run that
have no record or changed since; with ``--open`` also those with survivors that no rule explains, with ``--all`` every
one. ``--most`` measures a part bit by bit.
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
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of mutants: {', '.join(mutants.PARTS)}; else all")
    parser.add_argument("--open", action="store_true", help="also functions with survivors that no rule explains")
    parser.add_argument("--all", action="store_true", help="every function")
    parser.add_argument("--most", type=int, metavar="N", help="at most so many functions of each part")
    chosen = parser.parse_intermixed_args()
    unknown = [name for name in chosen.parts if name not in mutants.PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: {', '.join(mutants.PARTS)}")
    if chosen.what == "branches":
        _write({"branches": {"at": _today(), **branches.measure()}})
    elif chosen.what == "mutants":
        for name in chosen.parts or mutants.PARTS:
            recorded = _record().get("mutants", {}).get(name, {})
            functions = set(mutants.due(name, {} if chosen.all else recorded))
            functions |= set(mutants.still_open(recorded) if chosen.open else ())
            functions = set(sorted(functions)[: chosen.most])
            if functions:
                found = {"at": _today(), **mutants.measure(name, recorded, functions)}
                _write({"mutants": _record().get("mutants", {}) | {name: found}})
    else:
        _write({})


def _record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    return found


def _write(changed: dict[str, Any]) -> None:
    record = _record() | changed
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(record), "utf-8")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    main()
