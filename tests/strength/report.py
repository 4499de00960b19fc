"""The page on how strong the tests are, as text from the record of the last runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.strength.branches import AIM, TESTS, WHOLE, WHY, share
from tests.strength.mutants import PARTS, judgement
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "RECORD", "page"]

RECORD: Final = REPOSITORY / "docs" / "strength.json"
PAGE: Final = REPOSITORY / "docs" / "strength.md"


def page(record: dict[str, Any]) -> str:
    """The page ``docs/strength.md``."""
    return "\n".join(_page(record)) + "\n"


def _page(record: dict[str, Any]) -> Iterator[str]:
    yield "# How strong the tests are"
    yield ""
    yield "`python -m tests.strength` writes this page from `strength.json`, the record of its runs; a test compares"
    yield "them. It is about `explorer/core`."
    yield ""
    yield from _branches(record["branches"])
    yield from _mutants(record.get("mutants", {}))


def _branches(found: dict[str, Any]) -> Iterator[str]:
    yield "## What runs"
    yield ""
    yield f"Statements and branches of the core that run in {_listed(TESTS)} without Spark, and with {_listed(WHOLE)}"
    yield f"beside them (`python -m tests.strength branches`; {found['at']}). The aim is {AIM} % of a module."
    yield ""
    yield "| Package | Without Spark | Statements | Branches | Both |"
    yield "|---|---:|---:|---:|---:|"
    for name, figures in sorted(found["packages"].items(), key=lambda item: (item[0] == "all", item[0])):
        lines, statements, branches, ways = figures
        yield (
            f"| {name} | {share(found['alone'][name]):.1f} % | {lines:,} of {statements:,} | {branches:,} of {ways:,}"
            f" ({100 * branches / max(1, ways):.0f} %) | {share(figures):.1f} % |"
        )
    yield ""
    yield "Modules below the aim in all of these, the lines that do not run or not every way, and why:"
    yield ""
    yield "| Module | Both | Lines | Why |"
    yield "|---|---:|---|---|"
    for module, low in sorted(found["below"].items(), key=lambda item: (share(item[1]["figures"]), item[0])):
        yield f"| `{module}` | {share(low['figures']):.0f} % | {low['lines']} | {WHY.get(module, 'not judged')} |"


def _listed(folders: tuple[str, ...]) -> str:
    return ", ".join(f"`{folder}`" for folder in folders)


def _mutants(parts: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "## What is noticed"
    yield ""
    yield "mutmut changes one thing of a module at a time and runs the tests that reach it"
    yield "(`python -m tests.strength mutants PART`). A digest of each function is recorded with its figures; a test"
    yield "refuses figures of other code. Seconds are those of the last run of the whole part."
    yield ""
    if not parts:
        yield "No part ran to its end yet."
        return
    yield "| Part | Modules | Mutants | Killed | Judged equivalent | Open | At | Seconds |"
    yield "|---|---|---:|---:|---:|---:|---|---:|"
    for name, part in sorted(parts.items()):
        judged = sum(bool(judgement(survivor)) for survivor in part["survivors"])
        modules = ", ".join(f"`{module}`" for module in PARTS[name].modules)
        made, killed = (sum(each[what] for each in part["functions"].values()) for what in ("mutants", "killed"))
        left = len(part["survivors"]) - judged
        yield (
            f"| {name} | {modules} | {made} | {killed} ({100 * killed / made:.0f} %) | {judged} | {left}"
            f" | {part['at']} | {part['seconds']} |"
        )
    missing = [f"{name} ({', '.join(part.modules)})" for name, part in PARTS.items() if name not in parts]
    if missing:
        yield from ("", f"Never run to the end: {'; '.join(missing)}.")
    for name, part in sorted(parts.items()):
        if part["survivors"]:
            yield from ("", f"Survivors of {name}:", "", "| Function | Before | After | Verdict |", "|---|---|---|---|")
        for survivor in part["survivors"]:
            cells = [survivor["function"], _code(survivor["before"]), _code(survivor["after"])]
            yield f"| {' | '.join([*cells, judgement(survivor) or 'open'])} |"


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if "`" not in escaped else escaped
