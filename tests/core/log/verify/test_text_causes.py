"""Commits in shapes that are no lines of JSON: the true cause is named, and lines that readers pass over are found."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, lines, new_store, write

ACTIONS: list[bytes] = lines([commit_info("WRITE"), add("b"), add("c")]).splitlines()
WHOLE = b"\n".join(ACTIONS) + b"\n"


def _store(data: bytes) -> LogStore:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(commit_name(1), data)
    return store


def _found(data: bytes) -> list[tuple[str, int | None]]:
    return [(each.kind, each.version) for each in verify(_store(data)).problems]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"\0" * 400, "contains only NUL bytes"),
        ("\u00a0\n".encode() + WHOLE, "white space that JSON does not have"),
        (b"\f\n" + WHOLE, "white space that JSON does not have"),
        (WHOLE + b"\0" * 64, "contains only NUL bytes"),
        (b"\0" + WHOLE, "begins with NUL bytes"),
        (WHOLE.decode().encode("utf-16-le"), "encoded in UTF-16"),
        (WHOLE.decode().encode("utf-16-be"), "encoded in UTF-16"),
        (WHOLE.decode().encode("utf-32-le"), "encoded in UTF-32"),
        (WHOLE.decode().encode("utf-32"), "FF FE 00 00, UTF-32"),
        (gzip.compress(WHOLE), "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "compressed with Zstandard"),
        (b"PAR1\x15\x04\x15", "a Parquet file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "pointer of Git LFS"),
        (b"<<<<<<< HEAD\n" + WHOLE + b"=======\n>>>>>>> other\n", "merge conflict"),
        (b"<html><body>403</body></html>", "a page of XML or HTML"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "a page of XML or HTML"),
        (b"// by hand\n" + WHOLE, "begins with a comment"),
        (b"# by hand\n" + WHOLE, "begins with a comment"),
        (b"/* by hand */ " + WHOLE, "begins with a comment"),
        (WHOLE.replace(b'"', b"'"), "single quotes"),
        (b"\r".join(ACTIONS), "carriage return alone"),
        (b",\n".join(ACTIONS), "a comma follows the action"),
        (b",".join(ACTIONS), "several actions"),
        (b"\x1e" + WHOLE, "record separator"),
        (WHOLE.replace(b"WRITE", b"WR\x01ITE"), "control character"),
        (WHOLE.replace(b"WRITE", b"WR\\ud83dITE"), "unpaired surrogate"),
        (WHOLE.replace(b'"size":100', b'"size":NaN'), "NaN or Infinity"),
        (ACTIONS[1] + b" and more\n", "other text follows the action"),
    ],
)
def test_the_true_cause_is_named_with_what_to_do(data: bytes, cause: str) -> None:
    with pytest.raises(MalformedAction, match=cause) as caught:
        explorer.Table(_store(data)).snapshot()
    assert "truncated" not in caught.value.message
    assert _found(data) == [("unreadable-commit", 1)]
    (finding,) = (each for each in explorer.Table(_store(data)).audit().findings if each.severity == "error")
    assert (finding.rule, cause in finding.evidence[0].text) == ("unreadable-log", True)
    assert finding.remedy is not None


@pytest.mark.parametrize(
    "data",
    [
        WHOLE.replace(b'"size":100', b'"size":"\\\\ud83d"'),
        WHOLE.replace(b'"size":100', b'"size":": NaN, -Infinity"'),
        WHOLE.replace(b'"size":100', b'"size":"many"'),
    ],
)
def test_what_is_wrong_with_a_value_is_not_blamed_on_the_text(data: bytes) -> None:
    with pytest.raises(MalformedAction, match="got `str`"):
        explorer.Table(_store(data)).snapshot()


def _one_object(first: bytes, second: bytes) -> bytes:
    return first[:-1] + b"," + second[1:]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}\n" + WHOLE, "line 1 contains no action"),
        (b'{"add":null}\n', "line 1 contains no action"),
        (b'{"actions":[' + b",".join(ACTIONS) + b"]}\n", "'actions', which is not an action"),
        (WHOLE.replace(b'"add"', b'"Add"'), "the protocol spells it add"),
        (b'{"metadata":{}}\n', "the protocol spells it metaData"),
        (_one_object(ACTIONS[0], ACTIONS[1]) + b"\n", "several actions (add, commitInfo)"),
        (_one_object(ACTIONS[1], ACTIONS[2]) + b"\n", "has 'add' twice"),
        (ACTIONS[1].replace(b'"path":"b"', b'"path":"b","path":"c"') + b"\n", "has 'path' twice"),
    ],
)
def test_a_line_that_is_not_one_action_is_read_as_others_do_and_named(data: bytes, said: str) -> None:
    found = [each for each in verify(_store(data)).problems if each.kind == "unknown-action"]
    assert found
    assert (found[0].version, found[0].breaking) == (1, False)
    details = " ".join(each.detail for each in found)
    assert said in details or said.replace("add, commitInfo", "commitInfo, add") in details
    assert found[0].next_step.endswith(".")
    explorer.Table(_store(data)).snapshot().files(["path"])


@pytest.mark.parametrize("name", ["configuration", "format", "partitionColumns"])
@pytest.mark.parametrize("change", ["absent", "null"])
def test_metadata_without_what_other_clients_require_is_named(name: str, change: str) -> None:
    written: dict[str, Any] = json.loads(lines([METADATA]))
    if change == "null":
        written["metaData"][name] = None
    else:
        written["metaData"].pop(name, None)
    store = new_store()
    write(store, {0: (PROTOCOL, written, add("a"))})
    (found,) = verify(store).problems
    assert (found.kind, found.breaking, f"metaData has no {name}" in found.detail) == ("missing-member", False, True)
    assert "delta-spark" in found.detail


@pytest.mark.parametrize("name", ["modificationTime", "dataChange", "partitionValues"])
def test_a_file_without_what_other_clients_require_is_named(name: str) -> None:
    written: dict[str, Any] = json.loads(lines([add("b")]))
    written["add"].pop(name)
    assert _found(json.dumps(written).encode()) == [("missing-member", 1)]


def test_what_is_as_it_should_be_is_silent() -> None:
    shapes: list[Callable[[], bytes]] = [lambda: WHOLE, lambda: WHOLE.replace(b"\n", b"\r\n"), lambda: b"\n\n" + WHOLE]
    assert [_found(shape()) for shape in shapes] == [[], [], []]
