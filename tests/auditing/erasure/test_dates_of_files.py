"""From when a vacuum deletes each stored file, by the log and the folder alone, and what a proof makes of the dates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.auditing.erasure import Erasure
from explorer.auditing.erasure.search import prove_erasure
from explorer.auditing.erasure.stored_files import stored_files
from explorer.core.protocol.times import aware_moment, milliseconds
from explorer.core.versions.file_search import SearchResult
from tests.support.logs.small_logs import MASKED, add, metadata, remove, write_log
from tests.support.logs.spark_tables import masking

NOW = milliseconds(aware_moment("2026-11-22T10:00:00Z"))
DAY = 86_400_000
WEEK = 7 * DAY


def table(root: Path, properties: Mapping[str, str] | None = None) -> explorer.Table:
    """Live files, one of which masks rows; one removed 30 days ago; one removed twice, added in between; one that lies
    in a folder whose name vacuum skips; three that no version names, one with a tombstone and one in such a folder."""
    vector = masking([0])
    described = metadata({"id": "long", "region": "string"}, ["region"], properties)

    def gone(path: str, days: int, **more: Any) -> Any:
        return remove(path, deletion_timestamp=NOW - days * DAY, extended_file_metadata=True, **more)

    names = ("live", "masked", "old", "young", "twice", "_hidden/old", "region=x/old")
    first = [MASKED, described, *(add(name, 5, partition_values={"region": "x"}) for name in names)]
    second = [
        gone("masked", 30),
        add("masked", 5, partition_values={"region": "x"}, vector=vector),
        *(gone(name, 30) for name in ("old", "young", "twice", "_hidden/old", "region=x/old")),
        gone("buried", 20),
    ]
    third = [add("twice", 5, partition_values={"region": "x"}, vector=vector)]
    write_log(root, [first, second, third, [gone("twice", 3, vector=vector)]])
    for name in (*names, "buried", "stray", "_hidden/stray"):
        file = root / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"PAR1 and more")
        days = 1 if name == "young" else 60
        os.utime(file, ((NOW - days * DAY) / 1_000,) * 2)
    return explorer.open_table(root)


def dates(log: explorer.Table) -> dict[str, tuple[str, int | None]]:
    files = stored_files(log, NOW).files
    names = ("key", "role", "gone_from")
    return {key: (role, gone) for key, role, gone in zip(*(files.column(n).to_pylist() for n in names), strict=True)}


def test_each_file_is_deleted_once_its_last_removal_and_its_own_time_are_old_enough(tmp_path: Path) -> None:
    assert dates(table(tmp_path / "t")) == {
        # removed now at the earliest
        "live": ("live", NOW + WEEK),
        "masked": ("live", NOW + WEEK),
        "old": ("history", NOW - 30 * DAY + WEEK),
        # its removal has expired, and the file itself is of yesterday
        "young": ("history", NOW - DAY + WEEK),
        "twice": ("history", NOW - 3 * DAY + WEEK),
        "_hidden/old": ("history", None),
        # a folder of a partition is not hidden
        "region=x/old": ("history", NOW - 30 * DAY + WEEK),
        "buried": ("orphan", NOW - 20 * DAY + WEEK),
        "stray": ("orphan", NOW - 60 * DAY + WEEK),
        "_hidden/stray": ("orphan", None),
    }


def test_only_live_files_mask_rows_and_versions_are_those_that_had_the_file(tmp_path: Path) -> None:
    files = stored_files(table(tmp_path / "t"), NOW).files
    names = ("key", "dv_cardinality", "first_version", "last_version")
    result = {key: rest for key, *rest in zip(*(files.column(name).to_pylist() for name in names), strict=True)}
    assert result["masked"] == [1, 0, 3]
    assert result["twice"] == [None, 0, 2], "the vector of a file that went says nothing of what is live"
    assert result["old"] == [None, 0, 0]
    assert result["stray"] == [None, None, None]


def proof(
    log: explorer.Table, matches: Mapping[str, tuple[int, int]], failed: Mapping[str, str] | None = None
) -> Erasure:
    """A proof of what a search found: visible and masked rows by file."""
    rows = [(name, visible, masked) for name, (visible, masked) in matches.items()]
    files = SearchResult(
        pa.table({"key": list(matches), "rows": [5] * len(rows), "digest": ["d"] * len(rows)}),
        pa.table(
            {
                "request": [""] * len(rows) + ["other"],
                "key": [name for name, _, _ in rows] + ["live"],
                "visible": [visible for _, visible, _ in rows] + [5],
                "masked": [masked for _, _, masked in rows] + [5],
            }
        ),
        dict(failed or {}),
    )
    return prove_erasure(log, {"": "id > 100"}, NOW, lambda _: files)[""]


@pytest.mark.parametrize(
    ("matches", "totals", "gone_from", "kinds"),
    [
        ({"live": (2, 0)}, {"live": 2}, NOW + WEEK, ["delete", "vacuum"]),
        ({"masked": (0, 1)}, {"masked": 1}, NOW + WEEK, ["purge", "vacuum"]),
        ({"masked": (2, 1)}, {"live": 2, "masked": 1}, NOW + WEEK, ["delete", "purge", "vacuum"]),
        ({"old": (3, 0), "twice": (1, 0)}, {"history": 4}, NOW - 3 * DAY + WEEK, ["vacuum"]),
        ({"old": (3, 0), "stray": (4, 0)}, {"history": 3, "orphan": 4}, NOW - 30 * DAY + WEEK, ["vacuum"]),
        # one file that is never deleted keeps the rows for ever
        ({"_hidden/old": (1, 0), "old": (1, 0)}, {"history": 2}, None, ["vacuum"]),
    ],
)
def test_a_proof_adds_up_what_was_found_and_dates_the_last_file(
    tmp_path: Path,
    matches: dict[str, tuple[int, int]],
    totals: dict[str, int],
    gone_from: int | None,
    kinds: list[str],
) -> None:
    found = proof(table(tmp_path / "t"), matches)
    assert {state: rows for state, rows in found.totals.items() if rows} == totals
    assert found.gone_from == gone_from
    assert [step.intent["kind"] for step in found.steps if step.intent] == kinds
    assert found.obstacles


def test_a_file_that_the_search_could_not_answer_keeps_the_claim_from_being_made(tmp_path: Path) -> None:
    log = table(tmp_path / "t")
    assert proof(log, {}).obstacles == ()
    found = proof(log, {}, {"old": "it is damaged"})
    assert [(each.path, each.reason) for each in found.not_answered] == [("old", "it is damaged")]
    assert found.obstacles == ("1 place not answered",)


@pytest.mark.parametrize("masks", [True, False])
def test_rows_that_a_delete_would_only_mask_are_purged_after_it(tmp_path: Path, masks: bool) -> None:
    log = table(tmp_path / "t", {"delta.enableDeletionVectors": str(masks).lower()})
    kinds = [step.intent["kind"] for step in proof(log, {"live": (2, 0)}).steps if step.intent]
    assert kinds == ["delete", *(["purge"] if masks else []), "vacuum"]


def test_a_live_file_that_is_not_stored_is_open_and_one_that_was_vacuumed_is_gone(tmp_path: Path) -> None:
    log = table(tmp_path / "t")
    for name in ("live", "old"):
        (tmp_path / "t" / name).unlink()
    stored = stored_files(log, NOW)
    assert [key for key, _ in stored.unanswered] == ["live"]
    assert stored.gone == 2
    assert proof(log, {}).obstacles == ("1 place not answered",)
