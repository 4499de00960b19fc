"""What goes with deleted files: versions that had all of theirs, also files that the log names by absolute paths."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.maintenance.vacuum_effects import VacuumEffects, vacuum_effects
from explorer.core.protocol.actions import DeletionVectorDescriptor
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, Line, add, new_store, remove, table

ELSEWHERE = "s3://other/place/file"


def effects(commits: dict[int, list[Line]], root: str, listed: list[str], gone: list[str]) -> VacuumEffects:
    return vacuum_effects(root, table(commits).history_record(), (), listed, gone)


def test_a_version_that_lacks_a_file_already_is_not_lost_with_another() -> None:
    commits: dict[int, list[Any]] = {
        0: [PROTOCOL, METADATA, add("a")],
        1: [add("lacking")],
        2: [remove("lacking")],
        3: [remove("a"), add("b")],
    }
    found = effects(commits, "s3://lake/table", ["a", "b"], ["a"])
    assert found.lost == (0, 2), "version 1 cannot be read before either"


def test_a_file_outside_the_table_is_not_missing_because_the_folder_does_not_list_it() -> None:
    commits: dict[int, list[Any]] = {
        0: [PROTOCOL, METADATA, add("a"), add(ELSEWHERE)],
        1: [remove("a"), add("b")],
    }
    assert effects(commits, "s3://lake/table", ["a", "b"], ["a"]).lost == (0,)


@pytest.mark.parametrize("root", ["s3://lake/table", "s3://lake/table/", "s3://lake/X", "s3://lake/X/", "/lake/table"])
def test_a_file_inside_is_the_same_by_its_absolute_path_however_the_root_is_written(root: str) -> None:
    inside = f"{root.rstrip('/')}/inside"
    commits: dict[int, list[Any]] = {
        0: [PROTOCOL, METADATA, add(inside), add(ELSEWHERE)],
        1: [add("b")],
        2: [remove(inside)],
    }
    found = effects(commits, root, ["inside", "b"], ["inside"])
    assert (found.lost, found.reasons) == ((0, 1), ("not needed since version 2",))


def test_a_file_of_vectors_is_needed_until_the_last_removal_whichever_file_was_added_first() -> None:
    store = new_store()
    one, two = (DeletionVectorDescriptor("p", f"{store.root}/vectors.bin", 34, 1, offset) for offset in (1, 43))
    commits: dict[int, list[Any]] = {
        0: [MASKED, METADATA, add("a", 9, vector=one)],
        1: [add("b", 9, vector=two)],
        2: [remove("b", vector=two)],
        3: [remove("a", vector=one)],
    }
    found = vacuum_effects(store.root, table(commits, store).history_record(), (), ["vectors.bin"], ["vectors.bin"])
    assert found.reasons == ("not needed since version 3",)
