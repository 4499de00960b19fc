"""Names of files and places, the hint with its checksum, and what is said of versions that a log cannot give."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import md5
from uuid import UUID

import pytest

from explorer.core.errors import CorruptTable, MalformedAction, VersionGap, VersionNotFound
from explorer.core.log.last_checkpoint import (
    LastCheckpoint,
    canonical_form,
    encode_last_checkpoint,
    parse_last_checkpoint,
)
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.log.log_segment import LogListing, list_log
from explorer.core.protocol.file_paths import (
    decode_path,
    encode_path,
    is_absolute_location,
    partition_location,
)
from tests.support.logs.small_logs import new_store


@pytest.mark.parametrize(
    ("location", "absolute"),
    [
        *(("/a", True), ("s3://bucket/a", True), ("file:/a", True), ("C:/a", True), ("a+b.c-d:/x", True)),
        *(("a", False), ("a:b", False), ("a/b:/c", False), (":/a", False), ("1a:/b", False), ("", False)),
    ],
)
def test_a_place_is_absolute_with_a_slash_or_a_scheme_and_a_slash(location: str, absolute: bool) -> None:
    assert is_absolute_location(location) is absolute


def test_folders_of_partitions_have_hive_s_escapes() -> None:
    values = {"a": "x/y", "b": None, "c=d": "1%", "plain": "é z"}
    assert partition_location(values, "f.parquet") == (
        "a=x%2Fy/b=__HIVE_DEFAULT_PARTITION__/c%3Dd=1%25/plain=é z/f.parquet"
    )
    assert partition_location({}, "f.parquet") == "f.parquet"


def test_a_path_is_encoded_as_little_as_the_protocol_asks() -> None:
    assert encode_path("a+b&c=d/e f%g:h") == "a+b&c=d/e%20f%25g%3Ah"


@pytest.mark.parametrize(
    ("path", "location"),
    [
        *(("file:/a%20b", "/a b"), ("file:///a", "/a"), ("file://localhost/a", "/a"), ("file://localhost", "/")),
        *(("S3://bucket/a%25", "s3://bucket/a%"), ("a%2Fb", "a/b"), ("a b", "a b"), ("/a", "/a")),
    ],
)
def test_a_path_is_decoded_once_and_the_local_scheme_folded(path: str, location: str) -> None:
    assert decode_path(path) == location


@pytest.mark.parametrize("path", ["a%FFb", "s3://bucket/%C3"])
def test_escapes_that_are_no_text_name_the_path(path: str) -> None:
    with pytest.raises(MalformedAction, match="not UTF-8") as error:
        decode_path(path)
    assert error.value.path == path


def test_a_checkpoint_is_named_with_or_without_an_id() -> None:
    identity = UUID(int=7)
    assert checkpoint_name(3) == f"_delta_log/{3:020d}.checkpoint.parquet"
    assert checkpoint_name(3, identity) == f"_delta_log/{3:020d}.checkpoint.{identity}.parquet"
    assert checkpoint_name(3, identity, "json") == f"_delta_log/{3:020d}.checkpoint.{identity}.json"


def test_a_hint_has_the_checksum_of_its_canonical_text() -> None:
    hint = LastCheckpoint(5, 12, size_in_bytes=300)
    text = '"size"=12,"sizeInBytes"=300,"version"=5'
    written = json.loads(encode_last_checkpoint(hint))
    assert written == {"version": 5, "size": 12, "sizeInBytes": 300, "checksum": _md5(text)}
    assert parse_last_checkpoint(encode_last_checkpoint(hint)) == hint


def test_a_hint_may_describe_a_checkpoint_of_the_second_version() -> None:
    described = {"path": "a b", "share": 1.50, "sidecars": [{"n": 1}, None]}
    written = json.loads(encode_last_checkpoint(LastCheckpoint(5), described))
    number = json.loads(encode_last_checkpoint(LastCheckpoint(5), described), parse_float=str)["v2Checkpoint"]["share"]
    text = (
        f'"v2Checkpoint"+"path"="a%20b","v2Checkpoint"+"share"={number},"v2Checkpoint"+"sidecars"+0+"n"=1,'
        '"v2Checkpoint"+"sidecars"+1=null,"version"=5'
    )
    assert written == {"version": 5, "v2Checkpoint": described, "checksum": _md5(text)}


def test_the_checksum_is_of_numbers_as_they_are_written_in_the_order_of_paths() -> None:
    written = encode_last_checkpoint(LastCheckpoint(5), {"far": 1e22, "n": list(range(11))})
    assert b'"far":1e22,' in written
    places = ",".join(f'"v2Checkpoint"+"n"+{place}={place}' for place in (0, 1, 10, *range(2, 10)))
    assert json.loads(written)["checksum"] == _md5(f'"v2Checkpoint"+"far"=1e22,{places},"version"=5')


def test_the_canonical_text_of_a_lone_value_has_no_path() -> None:
    assert (canonical_form("x"), canonical_form(None), canonical_form([])) == ('="x"', "=null", "")


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _listing(commits: Iterable[int], checkpoints: Iterable[int] = ()) -> LogListing:
    store = new_store()
    for version in commits:
        store.put_if_absent(commit_name(version), b"{}")
    for version in checkpoints:
        store.put_if_absent(checkpoint_name(version), b"x")
    return list_log(store)


@pytest.mark.parametrize(("version", "nearest"), [(9, 4), (5, 4), (-1, 0)])
def test_a_version_that_never_was_is_told_with_the_nearest(version: int, nearest: int) -> None:
    with pytest.raises(VersionNotFound) as error:
        _listing(range(5)).segment(version)
    found = error.value
    assert (found.version, found.earliest, found.latest, found.nearest) == (version, 0, 4, nearest)
    assert found.message == (f"There is no version {version}: the table has versions 0 to 4. The nearest is {nearest}.")


@pytest.mark.parametrize(
    ("commits", "checkpoints", "said"),
    [
        ([0], [], "the table has version 0."),
        ([0, 2, 3], [2], "the table has versions 0 and 2 to 3."),
        ([0, 2, 3, 5], [2, 5], "the table has versions 0, 2 to 3 and 5."),
        ([0, 2, 4, 6], [2, 4, 6], "the table has versions 2, 4 and 6."),
    ],
)
def test_a_version_that_never_was_is_told_with_those_that_are(
    commits: list[int], checkpoints: list[int], said: str
) -> None:
    with pytest.raises(VersionNotFound) as error:
        _listing(commits, checkpoints).segment(9)
    assert error.value.message == f"There is no version 9: {said} The nearest is {commits[-1]}."


@pytest.mark.parametrize(
    ("commits", "checkpoints", "asked", "readable", "what"),
    [
        pytest.param(
            [0, 1, 3, 4],
            [],
            (4, 2),
            ((0, 1), "Versions 0 to 1"),
            "The commit of version 2 is missing from",
            id="in between",
        ),
        pytest.param(
            [0, 1, 2, 4, 5, 6],
            [1, 5],
            (4, 3),
            ((5, 6), "Versions 0 to 2 and 5 to 6"),
            "The commit of version 3 is missing from",
            id="later",
        ),
        pytest.param(
            [1, 2],
            [],
            (2, 0),
            ((None, None), "No version"),
            "starts after version 0 and no checkpoint covers",
            id="truncated",
        ),
        pytest.param([0, 2], [], (2, 1), ((0, 0), "Version 0"), "The commit of version 1 is missing from", id="one"),
        pytest.param(
            *([0, 2, 3, 5, 6, 8], [2, 5], (8, 7), ((5, 6), "Versions 0, 2 to 3 and 5 to 6")),
            "The commit of version 7 is missing from",
            id="three runs",
        ),
        pytest.param(
            *([0, 1, 3, 5], [2], (5, 4), ((0, 3), "Versions 0 to 3"), "The commit of version 4 is missing from"),
            id="a checkpoint in place of its commit",
        ),
        pytest.param(
            [3, 4, 6], [3], (6, 5), ((3, 4), "Versions 3 to 4"), "The commit of version 5 is missing from", id="behind"
        ),
        pytest.param(
            [2, 3, 4, 5, 7],
            [0, 2, 5],
            (7, 6),
            ((2, 5), "Versions 0 and 2 to 5"),
            "The commit of version 6 is missing from",
            id="not before a gap",
        ),
    ],
)
def test_a_gap_is_told_with_what_is_missing_and_what_can_be_read(
    commits: list[int], checkpoints: list[int], asked: tuple[int, int], readable: tuple[tuple[int, int], str], what: str
) -> None:
    """Asked is a version, and the commit that it lacks; readable the newest run of versions, and all in words."""
    with pytest.raises(VersionGap) as error:
        _listing(commits, checkpoints).segment(asked[0])
    found = error.value
    assert (found.version, found.missing) == asked
    assert (found.earliest, found.latest) == readable[0]
    assert what in found.message
    said = f"so version {asked[0]} cannot be rebuilt. {readable[1]} can be read. Restore the missing file"
    assert said in found.message


@pytest.mark.parametrize(
    ("commits", "checkpoints", "version", "readable"),
    [
        pytest.param([3, 4, 5], [4], 3, (4, 5), id="a commit is left"),
        pytest.param([], [5], 3, (5, 5), id="no commit is left"),
        pytest.param([5, 6], [4, 6], 2, (4, 6), id="the checkpoint has none"),
    ],
)
def test_a_version_that_was_cleaned_up_is_told_with_what_is_left(
    commits: list[int], checkpoints: list[int], version: int, readable: tuple[int, int]
) -> None:
    with pytest.raises(VersionNotFound) as error:
        _listing(commits, checkpoints).segment(version)
    found = error.value
    assert (found.version, found.earliest, found.latest, found.nearest) == (version, *readable, readable[0])
    assert found.message == (
        f"Version {version} can no longer be rebuilt: log cleanup deleted the commits it needs. "
        f"{'Version 5' if readable == (5, 5) else 'Versions 4 to ' + str(readable[1])} can be read."
    )


def test_two_files_of_one_version_are_both_named() -> None:
    store = new_store()
    for name in ("00000000000000000003.json", "3.json"):
        store.put_if_absent(f"_delta_log/{name}", b"{}")
    with pytest.raises(CorruptTable, match="Move the wrong one out of the log") as error:
        list_log(store)
    assert error.value.version == 3
    assert error.value.path == "_delta_log/3.json"
    assert "has two commit files, 00000000000000000003.json and 3.json" in error.value.message
