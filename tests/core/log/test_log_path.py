"""Names in the log and paths in actions."""

from __future__ import annotations

import pytest

from explorer.core.errors import MalformedAction
from explorer.core.log.log_path import LogFileKind, checkpoint_name, commit_name, parse_log_name
from explorer.core.protocol.file_paths import canonical_key, decode_path, encode_path, is_absolute

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("00000000000000000007.json", LogFileKind.COMMIT, 7),
        ("7.json", LogFileKind.COMMIT, 7),
        ("000000000000000000000000012.json", LogFileKind.COMMIT, 12),
        ("00000000000000000010.checkpoint.parquet", LogFileKind.CLASSIC_CHECKPOINT, 10),
        (
            "00000000000000000010.checkpoint.0000000002.0000000003.parquet",
            LogFileKind.MULTI_PART_CHECKPOINT,
            10,
        ),
        (f"00000000000000000010.checkpoint.{UUID}.parquet", LogFileKind.UUID_CHECKPOINT, 10),
        (f"00000000000000000010.checkpoint.{UUID}.json", LogFileKind.UUID_CHECKPOINT, 10),
        ("00000000000000000004.00000000000000000006.compacted.json", LogFileKind.COMPACTION, 4),
        ("00000000000000000004.crc", LogFileKind.CHECKSUM, 4),
        (f"00000000000000000004.{UUID}.json", LogFileKind.STAGED_COMMIT, 4),
    ],
)
@pytest.mark.conformance("LOG-003")
def test_names_of_the_protocol_are_recognised(name: str, kind: LogFileKind, version: int) -> None:
    path = parse_log_name(name)
    assert path is not None
    assert (path.kind, path.version) == (kind, version)


@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        ".00000000000000000000.json.crc",
        "00000000000000000000.json.tmp",
        "00000000000000000000.json#1",
        "x00000000000000000000.json",
        "00000000000000000000.JSON",
        "00000000000000000000.json\n",
        "٣.json",
        "00000000000000000010.checkpoint.0000000000.0000000003.parquet",
        "00000000000000000010.checkpoint.0000000004.0000000003.parquet",
        "00000000000000000006.00000000000000000004.compacted.json",
        "00000000000000000010.checkpoint.not-a-uuid.parquet",
        "",
    ],
)
@pytest.mark.conformance("LOG-003", "LOG-004")
def test_other_names_are_passed_over(name: str) -> None:
    assert parse_log_name(name) is None


def test_names_are_written_with_twenty_digits() -> None:
    assert commit_name(7) == "_delta_log/00000000000000000007.json"
    assert checkpoint_name(10) == "_delta_log/00000000000000000010.checkpoint.parquet"


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("a%20b+c%2525.parquet", "a b+c%25.parquet"),
        ("_2=bar+%252521/part-0.parquet", "_2=bar+%2521/part-0.parquet"),
        ("plain/part-0.parquet", "plain/part-0.parquet"),
        ("ts=2020-01-01 00:00:00/x", "ts=2020-01-01 00:00:00/x"),
        ("file:/a%20b/x", "/a b/x"),
        ("file:///a%20b/x", "/a b/x"),
        ("FILE://localhost/a/x", "/a/x"),
        ("/a%20b/x", "/a b/x"),
        ("s3://bucket/k%23h", "s3://bucket/k#h"),
        ("S3://bucket/k", "s3://bucket/k"),
        ("100%", "100%"),
        ("ä%C3%A4", "ää"),
    ],
)
@pytest.mark.conformance("PATH-001")
def test_paths_are_decoded_once(path: str, location: str) -> None:
    assert decode_path(path) == location


@pytest.mark.conformance("PATH-004")
def test_spellings_of_one_file_share_a_key_and_relative_is_not_absolute() -> None:
    spellings = ("/some/with%20space/p@%23h", "file:/some/with%20space/p@%23h", "file:///some/with%20space/p%40%23h")
    assert len({canonical_key(path) for path in spellings}) == 1
    assert canonical_key("some/x") != canonical_key("/some/x")
    assert canonical_key("a%3ab") == canonical_key("a%3Ab")


@pytest.mark.parametrize("path", ["http:example", "mailto:someone", "file:relative"])
@pytest.mark.conformance("PATH-005")
def test_opaque_uris_are_refused(path: str) -> None:
    with pytest.raises(MalformedAction, match="opaque"):
        decode_path(path)


def test_escapes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(MalformedAction, match="UTF-8"):
        decode_path("a%ff.parquet")


@pytest.mark.parametrize("path", ["/a", "s3://b/k", "file:///a", "abfss://c@h/p"])
def test_absolute_paths_are_told_from_relative_ones(path: str) -> None:
    assert is_absolute(path)
    assert not is_absolute("a/b=1:2/c")


@pytest.mark.parametrize("location", ["a b", "x=%3A/y", "ä#?{}[]", "100%", "a+b;c&d,e", "col=a:b"])
def test_encoding_is_undone_by_decoding(location: str) -> None:
    assert decode_path(encode_path(location)) == location


@pytest.mark.parametrize("digits", ["9223372036854775808", "9" * 20, "9" * 30, "1" + "0" * 1000])
@pytest.mark.parametrize("end", [".json", ".crc", ".checkpoint.parquet", f".{UUID}.json"])
def test_a_number_beyond_64_bits_is_no_version(digits: str, end: str) -> None:
    assert parse_log_name(digits + end) is None
    assert parse_log_name(f"{0:020d}.{digits}.compacted.json") is None


def test_the_largest_number_is_one() -> None:
    path = parse_log_name(f"{2**63 - 1:020d}.json")
    assert path is not None
    assert path.version == 2**63 - 1
