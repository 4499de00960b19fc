"""The feed of a commit that adds and removes one file: no row of it was ever to be seen, so nothing changed."""

from __future__ import annotations

import pytest

from tests.support.logs import small_logs
from tests.support.logs.small_logs import Line, add, remove


@pytest.mark.parametrize("lines", [[add("x"), remove("x")], [add("x"), remove("x"), add("y")]])
def test_a_file_that_comes_and_goes_in_one_commit_changes_no_row(lines: list[Line]) -> None:
    store = small_logs.new_store()
    for name in ("a", "x", "y"):
        store.put(name, b"rows")
    log = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA], 1: [add("a")], 2: lines}, store)
    found = log.change_sources(1, 2, inferred=True)
    kinds = list(zip(*(found.files.column(name).to_pylist() for name in ("version", "kind", "path")), strict=True))
    assert kinds == [(1, "insert", "a"), *([(2, "insert", "y")] if len(lines) == 3 else [])]
