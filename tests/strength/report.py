"""The page on how strong the tests are, as text from the record of the last runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tests.strength.branches import AIM, share
from tests.strength.mutants import PARTS, judgement
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "RECORD", "page"]

RECORD: Final = REPOSITORY / "build" / "strength.json"
PAGE: Final = REPOSITORY / "docs" / "strength.md"


def page(record: Mapping[str, Any]) -> str:
    """Return the page with the figures of a record; what the record lacks keeps the figures that the page has now."""
    now = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text("utf-8").splitlines()}
    return "\n".join(_page(record, now)) + "\n"


def _page(record: Mapping[str, Any], now: Mapping[str, str]) -> Iterator[str]:
    yield "# How strong the tests are"
    yield ""
    yield "Of `explorer/core`. `python -m tests.strength` renews the figures; `build/strength.json` then has every line"
    yield "that does not run and every mutant that survived."
    yield ""
    yield "## What runs"
    yield ""
    yield "Statements and branches run by the tests of the core without Spark, then by those of erasure, commands,"
    yield f"faults, and rows too (`python -m tests.strength branches`). The aim is {AIM} % of a module."
    yield ""
    yield "| Package | Without Spark | Statements | Branches | Both | On |"
    yield "|---|---:|---:|---:|---:|---|"
    yield from _rows(_branches(record.get("branches")), now, [*_packages(), "all"])
    yield ""
    yield "## What is noticed"
    yield ""
    yield "mutmut changes one thing of a module at a time and runs the tests that reach it (`python -m tests.strength"
    yield "mutants PART`). The modules that decide most are in parts of their own (`tests/strength/mutants.py`), with"
    yield "every function. Of the other modules, some functions run that chance chose (of the lowest digests of names),"
    yield "without the tests that read every golden and reference table. Tests were written for what survived, and a"
    yield "second and a third sample drawn after them. *Explained* are survivors that change nothing by a rule, such"
    yield "as letters of a message. What prepares, proposes, and guards changes of rows is measured without Spark;"
    yield "`tests/spark` notices more."
    yield ""
    yield "| Part | Mutants | Killed | Explained | On |"
    yield "|---|---:|---:|---:|---|"
    whole = sorted(name for name, part in PARTS.items() if part.sample is None)
    yield from _rows(_parts(record.get("mutants", {})), now, whole)
    yield ""
    yield "By the first run of the last sample of a package, each of its functions stands for as many as were not"
    yield "chosen; the range holds in 95 of 100 draws."
    yield ""
    yield "| Package | Mutants that ran | Killed | Last sample | Mutants | Killed at first | The whole package |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    samples = sorted(name.removeprefix("others-of-") for name in PARTS if name.startswith("others-of-"))
    yield from _rows(_estimates(record.get("mutants", {})), now, [f"{package}, whole" for package in samples])


def _rows(lines: Iterable[str], now: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    """The lines of a table by their first cell, in the order of the names; of now where there is no new one."""
    known = {**now, **{line.split(" | ")[0].removeprefix("| "): line for line in lines}}
    return (known[name] for name in names if name in known)


def _packages() -> list[str]:
    core = REPOSITORY / "explorer" / "core"
    return sorted(path.stem for path in core.iterdir() if (path / "__init__.py").is_file() or path.suffix == ".py")


def _branches(measured: Mapping[str, Any] | None) -> Iterator[str]:
    for name, figures in measured["packages"].items() if measured else ():
        lines, statements, branches, ways = figures
        yield (
            f"| {name} | {share(measured['alone'][name]):.1f} % | {lines:,} of {statements:,}"
            f" | {branches:,} of {ways:,} ({100 * branches / max(1, ways):.0f} %)"
            f" | {share(figures):.1f} % | {measured['at']} |"
        )


def _parts(parts: Mapping[str, Any]) -> Iterator[str]:
    for name, part in parts.items():
        if name in PARTS:
            explained = sum(bool(judgement(survivor)) for survivor in part["survivors"])
            made, killed = _figures(part["functions"])
            figures = f"{made:,} | {_share(made, killed)} | {explained} | {part['at']}"
            yield f"| {name} | {figures} |"


def _estimates(parts: Mapping[str, Any]) -> Iterator[str]:
    """The packages of which every sample ran."""
    for package in sorted({name.removeprefix("others-of-") for name in parts if name.startswith("others-of-")}):
        last = next((name for name in (f"third-of-{package}", f"second-of-{package}") if name in parts), "")
        known = {
            function: each
            for other, part in parts.items()
            for function, each in part["functions"].items()
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
        yield f"| {package}, whole | {made:,} | {_share(made, killed)} | {drawn} | {whole} |"


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
