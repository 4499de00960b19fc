"""The page on how strong the tests are, as text from the record of the last runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tests.strength.branches import AIM, TESTS, WHOLE, WHY, share
from tests.strength.mutants import PARTS, Part, judgement
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
    yield from _mutants(record.get("mutants", {}), record.get("unmeasured", {}))


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


def _mutants(parts: dict[str, Any], unmeasured: dict[str, list[str]]) -> Iterator[str]:
    yield ""
    yield "## What is noticed"
    yield ""
    yield "mutmut changes one thing of a module at a time and runs the tests that reach it"
    yield "(`python -m tests.strength mutants PART`). A digest of each function is recorded with its figures."
    yield "Functions that changed since, or are new, are listed as not measured until `make prove` measures them;"
    yield "a test compares the list with the code. Seconds are those of the last run of the whole part."
    yield ""
    yield from _not_measured(unmeasured)
    if not parts:
        yield "No part ran to its end yet."
        return
    yield from _packages(parts)
    yield "| Part | Modules | Mutants | Killed | Judged equivalent | Open | At | Seconds |"
    yield "|---|---|---:|---:|---:|---:|---|---:|"
    for name, part in sorted(parts.items()):
        judged = sum(bool(judgement(survivor)) for survivor in part["survivors"])
        made, killed = _figures(part["functions"])
        left = len(part["survivors"]) - judged
        yield (
            f"| {name} | {_said_of(PARTS[name])} | {made} | {_share(made, killed)} | {judged} | {left}"
            f" | {part['at']} | {part['seconds']} |"
        )
    missing = [name for name in PARTS if name not in parts]
    if missing:
        yield from ("", f"Never run to the end: {', '.join(missing)}.")
    for name, part in sorted(parts.items()):
        if part["survivors"]:
            yield from ("", f"Survivors of {name}:", "", "| Function | Before | After | Verdict |", "|---|---|---|---|")
        for survivor in part["survivors"]:
            cells = [survivor["function"], _code(survivor["before"]), _code(survivor["after"])]
            yield f"| {' | '.join([*cells, judgement(survivor) or 'open'])} |"


def _not_measured(unmeasured: dict[str, list[str]]) -> Iterator[str]:
    if not unmeasured:
        return
    count = sum(map(len, unmeasured.values()))
    yield f"**Not measured as they are now: {count} functions.** The figures below are of the code before:"
    yield ""
    for name, functions in unmeasured.items():
        yield f"- {name}: {', '.join(f'`{function}`' for function in functions)}"
    yield ""


def _packages(parts: dict[str, Any]) -> Iterator[str]:
    yield "The modules that decide most are in parts of their own, with every function. Of the other modules of a"
    yield "package some functions run that chance chose (those whose names have the lowest digests), without the"
    yield "tests that read every golden and reference table, which notice more than is counted here. Tests were written"
    yield "for what survived in these. So a second sample was drawn after them, of which what survives runs with those"
    yield "tests too. Where it showed less than 85 %, tests were written for the whole package and a third drawn."
    yield "By the figures of the first run of the last sample each of its functions stands for as many as were not"
    yield "chosen; the range holds in 95 of 100 draws of its functions from themselves. What prepares, proposes and"
    yield "guards changes of rows is measured without Spark, with rows that the tests give; `tests/spark`, which reads"
    yield "and writes them, notices more."
    yield ""
    yield "| Package | Mutants that ran | Killed | Last sample | Mutants | Killed at first | The whole package |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for package in sorted({name.removeprefix("others-of-") for name in parts if name.startswith("others-of-")}):
        last = next((name for name in (f"third-of-{package}", f"second-of-{package}") if name in parts), "")
        known = {
            function: each
            for other, found in parts.items()
            for function, each in found["functions"].items()
            if other != last and function.startswith(f"{package}.")
        }
        made, killed = _figures(known)
        first = parts[f"others-of-{package}"]
        left = first["of"] - len(first["functions"])
        if last:
            left -= len(parts[f"second-of-{package}"]["functions"]) if last.startswith("third") else 0
            chosen = np.array(list(parts[last]["first"].values()))
            drawn = f"{len(chosen)} of {left} | {chosen[:, 0].sum():,} | {_share(*chosen.sum(axis=0))}"
            whole = _estimate(made, killed, chosen, left)
        else:
            drawn, whole = "- | - | -", "not known" if left else f"{100 * killed / made:.0f} %"
        yield f"| {package} | {made:,} | {_share(made, killed)} | {drawn} | {whole} |"
    yield ""


def _estimate(made: int, killed: int, chosen: Any, left: int) -> str:
    """The share of a package of which so many mutants ran and so many functions did not, from some of these."""
    draws = np.random.default_rng(0).integers(len(chosen), size=(10_000, len(chosen)))
    means = chosen[draws].mean(axis=1)
    whole = 100 * (killed + left * chosen[:, 1].mean()) / (made + left * chosen[:, 0].mean())
    if left == len(chosen):
        return f"{whole:.0f} %"
    low, high = np.percentile(100 * (killed + left * means[:, 1]) / (made + left * means[:, 0]), (2.5, 97.5))
    return f"{whole:.0f} % ({low:.0f} to {high:.0f})"


def _figures(functions: dict[str, dict[str, int]]) -> tuple[int, int]:
    return sum(each["mutants"] for each in functions.values()), sum(each["killed"] for each in functions.values())


def _share(made: int, killed: int) -> str:
    return f"{killed:,} ({100 * killed / made:.0f} %)" if made else "-"


def _said_of(part: Part) -> str:
    if part.sample is None:
        return ", ".join(f"`{module}`" for module in part.modules)
    return f"{len(part.functions())} functions of {len(part.modules)} other modules"


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if "`" not in escaped else escaped
