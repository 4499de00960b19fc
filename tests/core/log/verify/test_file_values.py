"""What verifying decodes of each file: all that a reader decodes, with the file and the version."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, add, metadata, new_store, write

PARTITIONED = metadata({"id": "long", "d": "date", "n": "integer"}, ("d", "n"))


def _raw(path: str, **members: Any) -> dict[str, Any]:
    return {"add": {"path": path, "size": 1, "modificationTime": 1, "dataChange": True} | members}


def _problems(store: LogStore) -> list[tuple[str, int | None]]:
    return [(each.kind, each.version) for each in verify(store).problems if each.breaking]


@pytest.mark.parametrize(
    "members",
    [
        {"partitionValues": {"d": "2024-02-30", "n": "1"}},
        {"partitionValues": {"d": "2024-02-03", "n": "one"}},
        {"partitionValues": {"d": "2024-02-03"}},
        {"partitionValues": {}},
        {},
        {"partitionValues": {"d": "2024-02-03", "n": [1]}},
        {"partitionValues": ["d"]},
        {"partitionValues": {"d": "2024-02-03", "n": "1"}, "tags": {"x": [1]}},
        {"partitionValues": {"d": "2024-02-03", "n": "1"}, "stats": {"numRecords": 1}},
    ],
)
def test_a_value_that_no_reader_decodes_is_a_problem_of_its_file(members: dict[str, Any]) -> None:
    store = new_store()
    good = add("good", partition_values={"d": "2024-01-01", "n": "1"})
    write(store, {0: (PROTOCOL, PARTITIONED, good), 1: (_raw("bad1", **members), _raw("bad2", **members))})
    assert _problems(store) == [("invalid-file-values", 1)] * 2
    found = [each for each in verify(store).problems if each.breaking]
    assert [each.detail.split(":")[0] for each in found] == ["the file bad1", "the file bad2"]
    assert found[0].file == commit_name(1)


def test_values_of_a_checkpoint_whose_commits_are_gone_are_decoded_too() -> None:
    store = new_store()
    held = [
        PROTOCOL,
        PARTITIONED,
        add("good", partition_values={"d": None, "n": "1"}),
        add("bad", partition_values={"d": "x", "n": "1"}),
        add("poor", partition_values={"d": None}),
    ]
    write_checkpoint(store, 3, held, "classic")
    assert _problems(store) == [("invalid-file-values", 3)] * 2
    worst = explorer.Table(store).audit().findings[0]
    assert (worst.rule, worst.severity, worst.files) == ("unreadable-log", "error", 2)
    assert worst.remedy is not None


def test_values_in_every_valid_form_are_no_problem() -> None:
    store = new_store()
    values = [("2024-1-5", "1"), (None, None), ("", ""), ("2024-01-05", "-7"), ("2024", "+7")]
    adds = [add(f"f{place}", partition_values={"d": day, "n": number}) for place, (day, number) in enumerate(values)]
    write(store, {0: (PROTOCOL, PARTITIONED, *adds)})
    assert verify(store).problems == ()
    assert [each.rule for each in explorer.Table(store).audit().findings if each.severity == "error"] == []


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"[" + json.dumps(_raw("x")).encode() + b"]\n", "elements of a JSON array"),
        (json.dumps(_raw("x")).encode() * 2, "several actions"),
        (b"\xef\xbb\xbf" + json.dumps(_raw("x")).encode(), "byte-order mark"),
        (json.dumps(_raw("x")).encode("utf-16"), "byte-order mark"),
    ],
    ids=["array", "one line", "mark", "utf-16"],
)
def test_a_commit_in_another_shape_is_refused_by_its_cause_with_a_step(data: bytes, cause: str) -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, PARTITIONED)})
    store.put_if_absent(commit_name(1), data)
    (found,) = verify(store).problems
    assert (found.kind, cause in found.detail, "truncated" in found.detail) == ("unreadable-commit", True, False)
    assert "Restore the file" not in found.detail


def test_a_commit_that_is_cut_off_is_still_said_to_be_so() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, PARTITIONED)})
    store.put_if_absent(commit_name(1), b'{"add":{"path":"x","si')
    (found,) = verify(store).problems
    assert "Input data was truncated" in found.detail
    assert "Restore the file from a backup" in found.detail
