"""Leave to the whole dose what is marked so: `whole`, `sampled`, and `always`.

A test that has its dose in itself says so in its own file (`tests.support.dose`). These marks are for tests that do not
change with the dose: they take long, and others like them run always. All of them are parts of proofs
(`tests.prove.proofs`).

- ``whole("what runs instead")`` on a test or a module: only the whole dose runs it, or the named ``cases`` of it.
- ``sampled(cases=N)`` on a test: N of its cases always run, at even distances.
- ``sampled(tests=N)`` on a module: N of its tests and cases always run, beside those that prove rows of the protocol.
  With 0, those marked ``always`` run, or the named ``cases`` of them: where a mistake would lose or keep rows, or make
  a false statement, the tests of every run are chosen by risk, not by place.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.dose import IN_WHOLE_DOSE, WHOLE_DOSE, some_of
from tests.support.shared_tables import both_are_here

__all__ = ["check_rows"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is left to the whole dose, and say what runs instead."""
    chosen = config.option.keyword or config.option.markexpr or any("::" in str(argument) for argument in config.args)
    # A person's own run may have been narrowed in other ways, such as to what failed last.
    if os.environ.get("CI") and not chosen:
        _check_cases(items)
    if WHOLE_DOSE:
        return
    for item in items:
        for mark in item.iter_markers("whole"):
            if _names(mark, item):
                _leave(item, f"the small one: {mark.args[0]}")
                break
    _sample_cases(items)
    _sample_tests(items)
    # Where the tables made by others are absent, tests of many rows are not there to be run instead.
    if [Path(argument).resolve() for argument in config.args] == [config.rootpath / "tests"] and both_are_here():
        check_rows(items)


def check_rows(items: Iterable[pytest.Item]) -> None:
    """Refuse to leave out every test of a row of the protocol."""
    rows: dict[bool, set[str]] = {True: set(), False: set()}
    for item in items:
        left = any(IN_WHOLE_DOSE in mark.kwargs.get("reason", "") for mark in item.iter_markers("skip"))
        rows[left].update(str(name) for mark in item.iter_markers("conformance") for name in mark.args)
    if lost := rows[True] - rows[False]:
        raise pytest.UsageError("Only the whole dose runs the tests of these rows:", *sorted(lost))


def _sample_cases(items: list[pytest.Item]) -> None:
    cases_of: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (count := _sampled(item, "cases")) is not None:
            cases_of[_test(item), count].append(item)
    for (_, count), cases in cases_of.items():
        # In the order of the parameters, whatever the order of the run: the same cases always.
        tried = {id(item) for item in some_of(sorted(cases, key=_place), count)}
        for item in cases:
            if id(item) not in tried:
                _leave(item, f"{count} cases run always")


def _sample_tests(items: list[pytest.Item]) -> None:
    tests_of: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (count := _sampled(item, "tests")) is not None and not _is_settled(item):
            tests_of[item.nodeid.partition("::")[0], count].append(item)
    for (_, count), free in tests_of.items():
        free.sort(key=lambda item: (item.location[1] or 0, _place(item)))
        always = [item for item in free if any(_names(mark, item) for mark in item.iter_markers("always"))]
        tried = {id(item) for item in (always + some_of(free, count) if count else always)}
        for item in free:
            if id(item) not in tried:
                _leave(item, f"{len(tried)} tests of this file run always")


def _leave(item: pytest.Item, small: str) -> None:
    item.add_marker(pytest.mark.skip(reason=f"{IN_WHOLE_DOSE}: make prove; {small}"))


def _is_settled(item: pytest.Item) -> bool:
    """Whether a test runs always, as it proves rows of the protocol, or is left to the whole dose already."""
    return item.get_closest_marker("conformance") is not None or item.get_closest_marker("skip") is not None


def _sampled(item: pytest.Item, unit: str) -> int | None:
    """How many of the ``cases`` of a test, or of the ``tests`` of a module, always run; None if all do."""
    return next((int(mark.kwargs[unit]) for mark in item.iter_markers("sampled") if unit in mark.kwargs), None)


def _names(mark: pytest.Mark, item: pytest.Item) -> bool:
    """Whether a mark is about a case: it names it, or no case."""
    return "cases" not in mark.kwargs or _case(item) in mark.kwargs["cases"]


def _place(item: pytest.Item) -> list[int]:
    """The places of a case's parameters among those of its test; none of a test without parameters."""
    assert isinstance(item, pytest.Function)
    return list(item.callspec.indices.values()) if hasattr(item, "callspec") else []


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _case(item: pytest.Item) -> str:
    """The name of a case, without the browser that a test of pages is given; empty for a test without parameters."""
    return item.nodeid.partition("[")[2].removesuffix("]").removeprefix("chromium").removeprefix("-")


def _check_cases(items: list[pytest.Item]) -> None:
    """Refuse marks that name cases that are gone."""
    cases: defaultdict[str, set[str]] = defaultdict(set)
    named: defaultdict[str, set[str]] = defaultdict(set)
    for item in items:
        cases[_test(item)].add(_case(item))
        for mark in (*item.iter_markers("whole"), *item.iter_markers("always")):
            named[_test(item)].update(mark.kwargs.get("cases", ()))
    if gone := [f"{test}[{case}]" for test, all_named in named.items() for case in all_named - cases[test]]:
        raise pytest.UsageError("Marks name cases that are gone:", *sorted(gone))
