"""What a commit does to files is told by what becomes of them: a file that comes back masked is not removed."""

from __future__ import annotations

import msgspec
import pytest

from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, Remove
from explorer.core.transaction.consequences import file_moves, time_travel_effect
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.snapshot import Snapshot
from explorer.views.act.written_lines import written_lines
from tests.support.logs.small_logs import MASKED, METADATA, add, remove, table

OLD, NEW = (
    DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv=f"{letter}Ov-MdR>@uG0)h#^3BDa>", offset=1, size_in_bytes=34, cardinality=2
    )
    for letter in ("v", "w")
)


def snapshot(*files: Add) -> Snapshot:
    return table({0: (MASKED, METADATA, *files)}).snapshot()


def changed(*actions: Add | Remove) -> Proposal:
    adds = tuple(each for each in actions if isinstance(each, Add))
    removes = tuple(each for each in actions if isinstance(each, Remove))
    return Proposal(operation="DELETE", parameters={}, adds=adds, removes=removes)


def told(before: Snapshot, proposal: Proposal) -> list[tuple[str, str, str]]:
    lines = written_lines(proposal, before)
    return [(line.sign, line.subject, line.detail) for line in lines if "file" in line.subject]


INLINE = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="0rJua", size_in_bytes=4, cardinality=1)
STAYS = "1 file stays, and VACUUM keeps it: only the rows that it masks change."
STAY = "2 files stay, and VACUUM keeps them: only the rows that they mask change."
REPLACED = "1 deletion vector file is replaced; earlier versions need it, and VACUUM may delete it after 7 days."
GO = "2 files are removed; earlier versions need them, and VACUUM may delete them after 7 days."
GOES = "1 file is removed; earlier versions need it, and VACUUM may delete it after 7 days."


@pytest.mark.parametrize(
    ("before", "actions", "effect", "lines"),
    [
        # A delete that masks rows of two files, and takes a third whole.
        (
            (add("a", 9), add("b", 9), add("c", 1)),
            (remove("a"), remove("b"), remove("c"), add("a", 9, vector=NEW), add("b", 9, vector=NEW)),
            f"No version is lost. {GOES} {STAY}",
            [("\u2212", "1 file", "stays until a vacuum"), ("\u25c7", "2 files", "stay and mask other rows")],
        ),
        # An update that masks the old rows and writes the new ones.
        (
            (add("a", 9),),
            (remove("a"), add("a", 9, vector=NEW), add("n", 2, size=7)),
            f"No version is lost. {STAYS}",
            [("+", "1 file", "7 B"), ("\u25c7", "1 file", "stays and masks other rows")],
        ),
        # A restore that shows rows again; the vector file is needed by earlier versions alone. Paths are encoded.
        (
            (add("d%20e", 9, vector=OLD),),
            (remove("d%20e", vector=OLD), add("d%20e", 9)),
            f"No version is lost. {STAYS} {REPLACED}",
            [("\u25c7", "1 file", "stays and masks other rows")],
        ),
        # A vector inside the log has no file.
        (
            (add("a", 9, vector=INLINE),),
            (remove("a", vector=INLINE), add("a", 9, vector=NEW)),
            f"No version is lost. {STAYS}",
            [("\u25c7", "1 file", "stays and masks other rows")],
        ),
        # Statistics that are written again.
        (
            (add("a", 9), add("b", 9)),
            (add("a", 9), add("b", 9)),
            "No version is lost.",
            [("\u25c7", "2 files", "get new statistics; the rows stay the same")],
        ),
        # All files go.
        (
            (add("a", 9), add("b", 9)),
            (remove("a"), remove("b")),
            f"No version is lost. {GO}",
            [("\u2212", "2 files", "stay until a vacuum")],
        ),
    ],
)
def test_files_that_come_back_are_not_removed(
    before: tuple[Add, ...], actions: tuple[Add | Remove, ...], effect: str, lines: list[tuple[str, str, str]]
) -> None:
    found, proposal = snapshot(*before), changed(*actions)
    assert time_travel_effect(found, proposal) == effect
    assert told(found, proposal) == lines


def test_a_vector_file_that_other_files_still_use_is_not_replaced() -> None:
    before = snapshot(add("a", 9, vector=OLD), add("b", 9, vector=OLD))
    both = changed(remove("a", vector=OLD), add("a", 9, vector=NEW), remove("b", vector=OLD), add("b", 9, vector=OLD))
    assert file_moves(before, both).replaced_vectors == frozenset()
    one = msgspec.structs.replace(both, adds=both.adds[:1], removes=both.removes[:1])
    assert file_moves(before, one).replaced_vectors == frozenset(), "the other file is not touched"
    alone = snapshot(add("a", 9, vector=OLD), add("b", 9))
    assert len(file_moves(alone, one).replaced_vectors) == 1


def test_a_tombstone_of_a_file_without_rows_is_not_a_removed_file() -> None:
    before = snapshot(add("a", 9))
    dropped = changed(remove("deletion_vector_1.bin", data_change=False))
    assert time_travel_effect(before, dropped) == "No version is lost."
    lines = [(line.sign, line.subject) for line in written_lines(dropped, before)]
    assert lines[-1] == ("+", "1 tombstone")
