"""Problems of a log word by word: each with its version, its file, and what was found and expected."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from explorer.core.errors import TableNotFound
from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import (
    LAST_CHECKPOINT,
    checkpoint_name,
    commit_name,
    compaction_name,
)
from explorer.core.log.table_state import LiveFile
from explorer.core.log.verify.hash_chain import START as BEFORE
from explorer.core.log.verify.hash_chain import link
from explorer.core.log.verify.integrity import BREAKING, IntegrityReport, LogProblem, verify
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.actions import Action, DomainMetadata, Metadata, SetTransaction
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    add,
    lines,
    metadata,
    new_store,
    remove,
    vector,
    write,
)

START: tuple[Action, ...] = (PROTOCOL, METADATA, add("a"))
BATCH, DOMAIN = SetTransaction(app_id="x", version=1), DomainMetadata(domain="d", configuration="one")
V = vector("v").unique_id
Files = dict[str, bytes]
Checkpoints = dict[int, tuple[Action, ...]]


def verified(commits: dict[int, Any], files: Files | None = None, checkpoints: Checkpoints | None = None) -> Any:
    store = new_store()
    write(store, commits)
    for version, actions in (checkpoints or {}).items():
        write_checkpoint(store, version, actions, "classic")
    for name, data in (files or {}).items():
        store.put(name if "/" in name else f"_delta_log/{name}", data)
    return verify(store)


def told(commits: dict[int, Any], files: Files | None = None, checkpoints: Checkpoints | None = None) -> list[Any]:
    problems = verified(commits, files, checkpoints).problems
    return [(each.kind, each.version, each.file.removeprefix("_delta_log/"), each.detail) for each in problems]


def name(version: int) -> str:
    return f"{version:020d}.json"


def test_an_empty_folder_is_said_to_have_no_log() -> None:
    store = new_store()
    with pytest.raises(TableNotFound) as caught:
        verify(store)
    assert (str(caught.value), caught.value.location) == (f"There is no Delta log at {store.root}.", store.root)


@pytest.mark.parametrize(
    ("kind", "breaking"), [*((kind, True) for kind in sorted(BREAKING)), ("stale-hint", False), ("orphan-file", False)]
)
def test_some_kinds_keep_versions_from_being_read(kind: str, breaking: bool) -> None:
    assert LogProblem(kind, None, "x", "y").breaking is breaking
    assert len(BREAKING) == 12


# --- which versions are there -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commits", "checkpoints", "found"),
    [
        ([0, 2], [], [("gap", 1, name(1), "the commit is missing")]),
        ([0, 4], [], [("gap", 1, name(1), "the 3 commits up to version 3 are missing")]),
        ([0, 4], [2], [("gap", 1, name(1), "the 2 commits up to version 2 are missing"),
                       ("gap", 3, name(3), "the commit is missing")]),
        ([0], [1], [("gap", 1, name(1), "the commit is missing")]),
        ([0, 1, 3], [2], [("gap", 2, name(2), "the commit is missing")]),
        ([3, 4], [2], []),
        ([3, 4], [3], []),
        ([2, 3, 4], [2, 3], []),
        ([4], [2], [("gap", 3, name(3), "the commit is missing")]),
        ([3], [], [("truncated-log", 3, name(3), "the log starts here and no checkpoint covers earlier versions")]),
    ],
)  # fmt: skip
def test_versions_that_are_missing_are_told_by_their_range(
    commits: list[int], checkpoints: list[int], found: list[Any]
) -> None:
    held = {version: START if version == 0 else () for version in commits}
    assert told(held, checkpoints=dict.fromkeys(checkpoints, START)) == found


def test_a_report_says_what_can_be_rebuilt_and_the_chain_since_the_last_gap() -> None:
    content = lines([add("b")])
    found = verified({0: START, 3: [add("b")]}, checkpoints={2: START})
    head = link(BEFORE, 3, content.split(b"\n")).hex()
    gap = LogProblem("gap", 1, commit_name(1), "the 2 commits up to version 2 are missing")
    assert found == IntegrityReport((gap,), 2, 3, head)


def test_problems_come_by_version_and_those_of_the_whole_log_last() -> None:
    found = told({0: (), 1: (METADATA, METADATA)}, {"_x.tmp": b"", "_x.tmp.crc": b"", "_last_checkpoint": b"[]"})
    assert [(kind, version) for kind, version, _, _ in found] == [
        ("no-protocol", 0), ("no-metadata", 0), ("duplicate-action", 1), ("orphan-file", None), ("unusable-hint", None)
    ]  # fmt: skip
    assert found[3] == ("orphan-file", None, "_x.tmp", "a temporary file that its writer left behind")


def test_two_names_of_a_version_are_told_as_they_are_listed() -> None:
    found = told({0: START, 1: ()}, {"1.json": b""})
    assert found[0] == ("two-names", 1, name(1), f"{name(1)} and 1.json are both commits of the version")


# --- one commit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "kind", "detail"),
    [
        ((METADATA, METADATA), "duplicate-action", "2 metaData actions"),
        ((PROTOCOL, PROTOCOL, PROTOCOL), "duplicate-action", "3 protocol actions"),
        ((BATCH, BATCH), "duplicate-action", "2 txn actions of application 'x'"),
        ((DOMAIN, DOMAIN, DOMAIN), "duplicate-action", "3 domainMetadata actions of domain 'd'"),
        ((add("b"), add("%62")), "duplicate-action", "2 add actions of b"),
        ((remove("b", vector=vector("v")),) * 2, "duplicate-action", f"2 remove actions of b with deletion vector {V}"),
        ((add("b"), remove("b")), "contradictory-action", "b is added and removed"),
        ((add("a", vector=vector("v")),), "unremoved-vector",
         f"a with deletion vector {V} is added while a is live and is not removed"),
        ((b'{"sidecar":{}}', b'{"sidecar":{}}'), "misplaced-action", "sidecar belongs only in checkpoints"),
        ((b'{"checkpointMetadata":{}}',), "misplaced-action", "checkpointMetadata belongs only in checkpoints"),
    ],
)  # fmt: skip
def test_what_a_commit_must_not_hold_is_told_in_full(actions: tuple[Any, ...], kind: str, detail: str) -> None:
    assert told({0: START, 1: actions}) == [(kind, 1, name(1), detail)]


@pytest.mark.parametrize(
    "actions",
    [
        (METADATA, b'{"metaData":null}'),
        (add("a"),),
        (b'{"protocol":null}', b'{"protocol":null}'),
        (add("b", tags={"sidecar": "checkpointMetadata"}),),
        (remove("a"), add("a", vector=vector("v"))),
        (remove("b"), remove("b", vector=vector("v"))),
        (BATCH, SetTransaction(app_id="y", version=1), DOMAIN, DomainMetadata(domain="e")),
    ],
)
def test_what_only_looks_like_it_is_sound(actions: tuple[Any, ...]) -> None:
    assert told({0: START, 1: actions}) == []


@pytest.mark.parametrize(
    ("first", "found"),
    [
        ([], [("no-protocol", "the first commit has no protocol action"),
              ("no-metadata", "the first commit has no metaData action")]),
        ([PROTOCOL, Metadata(id="x")], [("no-metadata", "the metaData action has no schemaString")]),
        ([PROTOCOL, METADATA], []),
    ],
)  # fmt: skip
def test_what_the_first_commit_lacks_is_told(first: list[Action], found: list[tuple[str, str]]) -> None:
    assert told({0: first, 1: [add("b")]}) == [(kind, 0, name(0), detail) for kind, detail in found]


TIMED = metadata({"id": "long"}, configuration={"delta.enableInCommitTimestamps": "true"})
LACKING = ("no-in-commit-timestamp", "commitInfo has no inCommitTimestamp")


def back(time: int, before: int) -> tuple[str, str]:
    return "clock-went-back", f"inCommitTimestamp {time} is not after {before}, that of an earlier version"


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([5, 6, 6], {2: back(6, 6)}),
        ([5, 9, 3, 9, 10], {2: back(3, 9), 3: back(9, 9)}),
        ([5, None, 5, 6, 6], {1: LACKING, 2: back(5, 5), 4: back(6, 6)}),
        ([None, 5, 6], {0: LACKING}),
        ([5, METADATA, TIMED, 3], {2: LACKING}),
        ([5, METADATA, 4, 4], {}),
    ],
)
def test_times_of_commits_grow_from_version_to_version(times: list[Any], found: dict[int, tuple[str, str]]) -> None:
    commits: dict[int, Any] = {
        version: [b'{"commitInfo":{"inCommitTimestamp":%d}}' % each if isinstance(each, int) else each or add("x")]
        for version, each in enumerate(times)
    }
    commits[0] += [PROTOCOL, TIMED]
    assert told(commits) == [(kind, version, name(version), text) for version, (kind, text) in found.items()]


def test_after_a_gap_times_begin_anew() -> None:
    infos = [b'{"commitInfo":{"inCommitTimestamp":%d}}' % time for time in (9, 4, 4)]
    commits: dict[int, Any] = {0: [infos[0], PROTOCOL, TIMED], 3: [infos[1]], 4: [infos[2]]}
    found = told(commits, checkpoints={2: (PROTOCOL, TIMED)})
    assert [(kind, version, detail) for kind, version, _, detail in found[1:]] == [
        ("clock-went-back", 4, back(4, 4)[1])
    ]


def test_a_property_with_an_older_name_is_told_as_it_is_written() -> None:
    old = metadata({"id": "long"}, configuration={"delta.ENABLEChangeDataCapture": "True", "delta.appendOnly": "true"})
    detail = "delta.ENABLEChangeDataCapture = True uses an older name; only delta.enableChangeDataFeed has an effect"
    assert told({0: (PROTOCOL, old), 1: ()}) == [("former-property", 1, name(1), detail)]


def test_after_a_commit_that_cannot_be_read_the_next_checkpoint_says_what_is_in_force() -> None:
    held = {0: START, 1: (b"{",), 2: (add("b"),), 3: (add("a", vector=vector("v")),)}
    found = told(held, checkpoints={2: (*START, add("b"))})
    assert [(kind, version) for kind, version, _, _ in found] == [("unreadable-commit", 1), ("unremoved-vector", 3)]
    assert found[0][3].startswith(f"Line 1 of {commit_name(1)} ")
    head = BEFORE
    for version, actions in held.items():
        head = link(head, version, lines(actions).split(b"\n"))
    assert verified(held).chain_head == head.hex()


@pytest.mark.parametrize(
    "line", [b"not json", b"\xff", b"[" * 5000, b'{"a":1e9999999999999999999}', b'{"a":"\\ud800"}']
)
def test_a_line_that_has_no_canonical_form_counts_byte_for_byte(line: bytes) -> None:
    digest = hashlib.sha256(line).digest()
    expected = hashlib.sha256(BEFORE + (258).to_bytes(8, "big") + digest).digest()
    assert link(BEFORE, 258, [b" " + line + b"\r", b" \t"]) == expected


# --- checkpoints and the hint -----------------------------------------------------------------------------------------

LIVE = [f"100 bytes, 1 rows masked by {V}", "100 bytes"]


@pytest.mark.parametrize(
    ("held", "details"),
    [
        ((*START, add("b"), BATCH, DOMAIN), []),
        ((*START, add("b"), DOMAIN), ["its transactions are [], replay gives [('x', 1)]"]),
        ((*START, add("b"), BATCH), ["its domains are [], replay gives [('d', 'one')]"]),
        ((PROTOCOL, METADATA, BATCH, DOMAIN), ["it lacks 2 live files, such as a"]),
        ((*START, *map(add, "dcb"), BATCH, DOMAIN), ["it contains 2 files that are not live, such as c"]),
        ((PROTOCOL, METADATA, BATCH, DOMAIN, *(add(each, vector=vector("v")) for each in "ba")),
         [f"2 files differ, such as a: {LIVE[0]}, replay gives {LIVE[1]}"]),
        ((MASKED, metadata({"x": "long"}), add("a"), add("b"), BATCH, DOMAIN),
         ["its protocol is not the one in force", "its metaData is not the one in force"]),
    ],
)  # fmt: skip
def test_a_checkpoint_that_says_another_thing_is_told_in_full(held: tuple[Action, ...], details: list[str]) -> None:
    key = checkpoint_name(1).removeprefix("_delta_log/")
    found = told({0: START, 1: (add("b"), BATCH, DOMAIN)}, checkpoints={1: held})
    assert found == [("checkpoint-differs", 1, key, detail) for detail in details]


def test_of_many_differences_the_first_are_told() -> None:
    batches = [SetTransaction(app_id=each, version=1) for each in "gfedcba"]
    [(_, _, _, detail)] = told({0: (*START, *batches)}, checkpoints={0: (*START, *batches[:6])})
    some = [[(each, 1) for each in letters] for letters in ("bcdef", "abcde")]
    assert detail == f"its transactions are {some[0]}, replay gives {some[1]}"


def test_a_log_without_foundations_is_not_what_its_checkpoint_says() -> None:
    found = told({0: (add("a"),)}, checkpoints={0: START})
    assert [detail for kind, _, _, detail in found if kind == "checkpoint-differs"] == [
        "its protocol is not the one in force", "its metaData is not the one in force"
    ]  # fmt: skip


def test_parts_that_are_missing_are_counted() -> None:
    store = new_store()
    write(store, {0: START})
    parts = write_checkpoint(store, 0, START, "multi-part")
    store.delete(parts[1])
    assert verify(store).problems == (LogProblem("incomplete-checkpoint", 0, parts[0], "2 of 3 parts exist"),)


@pytest.mark.parametrize(
    ("hint", "kind", "version", "detail"),
    [
        ({"version": 0}, "stale-hint", 0, "it names version 0; the newest checkpoint is of version 1"),
        ({"version": 7}, "unusable-hint", 7, "the checkpoint that it names is missing"),
        ([], "unusable-hint", None, "it is not a valid hint, or its checksum does not match"),
    ],
)
def test_a_hint_that_does_not_help_is_told(hint: Any, kind: str, version: int | None, detail: str) -> None:
    found = verified({0: START, 1: ()}, {LAST_CHECKPOINT: json.dumps(hint).encode()}, {0: START, 1: START})
    assert found.problems[:1] == (LogProblem(kind, version, LAST_CHECKPOINT, detail),)
    assert [each.kind for each in found.problems[1:]] == ["lost-version"] * (version == 7)


# --- compactions ------------------------------------------------------------------------------------------------------

COMMITS = {
    0: START,
    1: (add("b"), BATCH, DOMAIN, DomainMetadata(domain="off", configuration="")),
    2: (remove("a"), add("c"), MASKED, DomainMetadata(domain="off", configuration="", removed=True)),
}
OFF = DomainMetadata(domain="off", configuration="", removed=True)
RIGHT = (add("b"), add("c"), remove("a"), BATCH, DOMAIN, OFF, MASKED)
RANGE = "the commits of the range leave"


@pytest.mark.parametrize(
    ("first", "held", "details"),
    [
        (1, RIGHT, []),
        (1, (*RIGHT, add("c")), ["it is not reconciled: c has more than one action"]),
        (1, (*RIGHT, remove("b"), remove("c")),
         ["it is not reconciled: 2 files, such as b, have more than one action"]),
        (1, (*RIGHT, add("z")), [f"z has an add, and {RANGE} none"]),
        (1, RIGHT[1:], [f"b has no add, and {RANGE} one"]),
        (1, RIGHT[2:], [f"2 files, such as b, have no add, and {RANGE} one"]),
        (1, (*RIGHT[:2], *RIGHT[3:]), [f"a has no remove, and {RANGE} one"]),
        (1, (*RIGHT[:3], DOMAIN, OFF, MASKED), [f"it has no transaction of 'x', and {RANGE} one"]),
        (1, (*RIGHT, SetTransaction(app_id="y", version=1)), [f"it has a transaction of 'y', and {RANGE} none"]),
        (1, (*RIGHT[:4], OFF, MASKED), [f"it has no metadata of the domain 'd', and {RANGE} one"]),
        (1, (*RIGHT[:5], MASKED), [f"it has no metadata of the domain 'off', and {RANGE} one"]),
        (1, (*RIGHT, METADATA), [f"it has a metaData, and {RANGE} none"]),
        (1, (*RIGHT[:6], PROTOCOL), ["its protocol is not the newest of the range"]),
        (0, (METADATA, *RIGHT[:2], *RIGHT[3:5], MASKED), []),
        (0, (METADATA, *RIGHT[:2], BATCH, MASKED), [f"it has no metadata of the domain 'd', and {RANGE} one"]),
        (0, (METADATA, *RIGHT[:2], BATCH, MASKED, DOMAIN, msgspec.structs.replace(OFF, removed=False)),
         ["its metadata of the domain 'off' is not the newest of the range"]),
    ],
)  # fmt: skip
def test_a_compaction_that_says_another_thing_is_told_in_full(first: int, held: Any, details: list[str]) -> None:
    key = compaction_name(first, 2)
    found = verified(COMMITS, {key: lines(held)}).problems
    assert found == tuple(LogProblem("compaction-differs", first, key, detail) for detail in details)


def test_a_compaction_is_told_itself_and_its_commits_where_they_stand() -> None:
    key, stray = compaction_name(0, 2), compaction_name(1, 3)
    detail = "it reaches to version 3; the newest commit or checkpoint is 2"
    found = verified(COMMITS, {stray: b""}).problems
    assert found[0] == LogProblem("stray-compaction", 1, stray, detail)
    assert [(each.kind, each.version) for each in found[1:]] == [("lost-version", 3)]
    [found] = verified(COMMITS, {key: b"{"}).problems
    assert (found.kind, found.version, found.file) == ("compaction-differs", 0, key)
    assert found.detail.startswith(f"Line 1 of {key} ")
    broken = verified(COMMITS | {1: (b"{",)}, {key: lines(RIGHT)}).problems
    assert [(each.kind, each.version) for each in broken] == [("unreadable-commit", 1)]


# --- what is carried from commit to commit ----------------------------------------------------------------------------


def applied(state: RunningState, *actions: Any) -> list[tuple[str, str]]:
    return list(state.apply(decode_commit(lines(actions), 1, commit_name(1))))


def test_what_is_live_is_counted_with_its_bytes_and_masked_rows() -> None:
    state = RunningState()
    unsized = b'{"add":{"path":"u","partitionValues":{},"modificationTime":1,"dataChange":true}}'
    masked = add("m", size=30, vector=vector("v", 4))
    assert applied(state, PROTOCOL, METADATA, BATCH, DOMAIN, add("a", size=7), masked, unsized) == []
    files = {"a": LiveFile(None, 7, 0), "m": LiveFile(V, 30, 4), "u": LiveFile(None, None, 0)}
    assert (state.files, state.num_bytes, state.num_unsized, state.masks) == (files, 37, 1, Counter({4: 1}))
    assert applied(state, b'{"remove":{"path":"u"}}', remove("m"), remove("zz")) == []
    assert (len(state.files), state.num_bytes, state.num_unsized) == (2, 37, 0)
    assert applied(state, add("a", size=9)) == []
    assert state.files == {"a": LiveFile(None, 9, 0), "m": LiveFile(V, 30, 4)}
    assert (state.num_bytes, state.num_unsized) == (39, 0)
    gone = DomainMetadata(domain="d", removed=True)
    later = SetTransaction(app_id="x", version=2)
    assert applied(state, remove("m", vector=vector("v", 4)), gone, later, DomainMetadata(domain="e"), MASKED) == []
    assert (list(state.files), state.num_bytes, +state.masks) == (["a"], 9, Counter())
    assert (list(state.domains), state.transactions) == (["e"], {"x": later})
    assert (state.protocol, state.metadata) == (MASKED, METADATA)
