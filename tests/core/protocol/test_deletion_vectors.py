"""Deletion vectors: the worked vectors, the frame, and every way in which bytes can lie."""

from __future__ import annotations

import struct
import uuid
import zlib
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap

from explorer.core.errors import CorruptDeletionVector, UnsupportedFeature
from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.deletion_vectors import (
    decode_bitmap,
    encode_bitmap,
    encode_vectors,
    location,
    read_rows,
    unframe,
    vector_file_name,
    z85_decode,
    z85_encode,
)
from explorer.storage import open_store

INLINE = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
LEGACY = "^9>0=0rr918#]%siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
BIG_ENDIAN = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
ROWS = [3, 4, 7, 11, 18, 29]
FRAMES = bytes.fromhex(
    "01"
    "0000002cd1d339640100000000000000000000003a300000010000000000050010000000"
    "0300040007000b0012001d00acd74a79"
    "00000038d1d339640200000000000000000000003a3000000100000000000000100000000000"
    "010000003a30000001000000000000001000000005003acdf3c1"
)  # fmt: skip


def descriptor(
    kind: str, text: str, size: int, cardinality: int, offset: int | None = None
) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(kind, text, size, cardinality, offset)


@pytest.mark.conformance("DV-025")
def test_z85_of_the_specification() -> None:
    any_one = DeletionVectorId("i", "")
    assert z85_decode("HelloWorld", any_one).hex() == "864fd26fb559f75b"
    assert z85_encode(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"
    assert z85_encode(bytes([1, 2, 3, 4, 5, 6])) == "0rJua1Qj@b"
    assert z85_decode("0rJua1Qj@b", any_one)[:6] == bytes([1, 2, 3, 4, 5, 6])


@pytest.mark.conformance("DV-025")
def test_each_character_of_z85_has_the_value_of_its_place_and_no_other_has_one() -> None:
    """The order of the ZeroMQ specification 32/Z85."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    any_one = DeletionVectorId("i", "")
    assert [z85_decode(f"0000{digit}", any_one) for digit in digits] == [bytes([0, 0, 0, n]) for n in range(85)]
    assert [z85_encode(bytes([0, 0, 0, n])) for n in range(85)] == [f"0000{digit}" for digit in digits]
    for other in {chr(code) for code in range(256)} - set(digits):
        with pytest.raises(CorruptDeletionVector):
            z85_decode(f"0000{other}", any_one)


@pytest.mark.parametrize("text", ["Hello", "HelloWorl", "Hell~World", "Hellö", "##093"])
@pytest.mark.conformance("DV-025")
def test_text_that_is_not_z85_is_refused(text: str) -> None:
    if text == "Hello":
        assert len(z85_decode(text, DeletionVectorId("i", text))) == 4
        return
    with pytest.raises(CorruptDeletionVector):
        z85_decode(text, DeletionVectorId("i", text))


@pytest.mark.conformance("DV-006", "DV-007", "DV-008")
def test_relative_locations_come_from_the_uuid() -> None:
    prefixed = DeletionVectorId("u", "ab^-aqEH.-t@S}K{vb[*k^", 4)
    assert location(prefixed) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert prefixed.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    bare = DeletionVectorId("u", "vBn[lx{q8@P<9BNH/isA", 1)
    assert location(bare) == "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"


@pytest.mark.conformance("DV-006", "DV-009")
def test_absolute_locations_are_decoded_once_and_inline_ones_have_none() -> None:
    assert location(DeletionVectorId("p", "s3://mytable/a%20b%2525.bin", 4)) == "s3://mytable/a b%25.bin"
    inline = DeletionVectorId("i", INLINE)
    assert location(inline) is None
    assert inline.unique_id == f"i{INLINE}"


@pytest.mark.conformance("DV-009")
def test_a_vector_at_an_absolute_place_is_read_from_there(tmp_path: Path) -> None:
    folder = tmp_path / "else where"
    folder.mkdir()
    (folder / "v.bin").write_bytes(FRAMES)
    store = open_store(str(tmp_path / "t"))
    assert read_rows(store, descriptor("p", f"{folder.as_uri()}/v.bin", 44, 6, 1)).tolist() == ROWS


@pytest.mark.parametrize(
    ("length", "reason"), [(3, "before the vector begins"), (4, "within the vector"), (10, "within the vector")]
)
def test_a_file_that_ends_too_soon_says_where(length: int, reason: str) -> None:
    with pytest.raises(CorruptDeletionVector, match=f"the file ends {reason}"):
        unframe(FRAMES[1 : 1 + length], descriptor("u", "vBn[lx{q8@P<9BNH/isA", 44, 6, 1))


@pytest.mark.conformance("DV-005")
def test_an_unknown_storage_type_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="storage type"):
        location(DeletionVectorId("x", "whatever"))


@pytest.mark.parametrize(("text", "size"), [(INLINE, 44), (LEGACY, 40)])
@pytest.mark.conformance("DV-010", "DV-015", "DV-017")
def test_inline_vectors_give_their_rows(text: str, size: int) -> None:
    rows = read_rows(open_store("memory://vectors/t"), descriptor("i", text, size, 6))
    assert rows.tolist() == ROWS


@pytest.mark.conformance("DV-010")
def test_an_inline_vector_is_cut_to_its_size() -> None:
    """Z85 comes in blocks of four bytes; the last one may hold bytes that are not the vector's."""
    store = open_store("memory://vectors/t")
    data = b"\xd1\xd3\x39\x64" + encode_bitmap(np.array(ROWS[:5], np.uint64))[4:]
    assert len(data) == 42
    assert read_rows(store, descriptor("i", z85_encode(data + b"\1\2"), 42, 5)).tolist() == ROWS[:5]
    with pytest.raises(CorruptDeletionVector):
        read_rows(store, descriptor("i", z85_encode(data), 45, 5))


@pytest.mark.conformance("DV-018")
def test_the_big_endian_sample_of_the_text_is_refused() -> None:
    with pytest.raises(CorruptDeletionVector, match="magic"):
        read_rows(open_store("memory://vectors/t"), descriptor("i", BIG_ENDIAN, 40, 6))


@pytest.mark.parametrize(
    ("offset", "size", "rows"), [(1, 44, ROWS), (53, 56, [0, 2**32 + 5])], ids=["first vector", "second vector"]
)
@pytest.mark.conformance("DV-012", "DV-013")
def test_vectors_in_one_file_are_found_by_their_offset(offset: int, size: int, rows: list[int]) -> None:
    store = open_store(f"memory://frames-{offset}/t")
    store.put_if_absent("deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", FRAMES)
    found = read_rows(store, descriptor("u", "vBn[lx{q8@P<9BNH/isA", size, len(rows), offset))
    assert found.tolist() == rows
    assert found.dtype == np.uint64


def test_the_empty_vector() -> None:
    empty = descriptor("i", "^Bg9^0000000000", 12, 0)
    rows = read_rows(open_store("memory://vectors/t"), empty)
    assert (rows.tolist(), rows.dtype) == ([], np.uint64)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda frame: frame[:3], "ends before"),
        (lambda frame: frame[:20], "ends within"),
        (lambda frame: struct.pack(">i", 43) + frame[4:], "43 bytes"),
        (lambda frame: frame[:10] + b"\x07" + frame[11:], "CRC-32"),
    ],
)
@pytest.mark.conformance("DV-014")
def test_a_frame_that_lies_is_refused(change, reason: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CorruptDeletionVector, match=reason):
        unframe(change(FRAMES[1:53]), descriptor("u", "vBn[lx{q8@P<9BNH/isA", 44, 6, 1))


@pytest.mark.conformance("DV-011", "DV-014")
def test_a_missing_file_a_wrong_version_and_an_absent_offset_are_refused() -> None:
    store = open_store("memory://broken/t")
    vector = descriptor("u", "vBn[lx{q8@P<9BNH/isA", 44, 6, 1)
    with pytest.raises(CorruptDeletionVector, match="is missing"):
        read_rows(store, vector)
    store.put_if_absent("deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", b"\x02" + FRAMES[1:])
    with pytest.raises(CorruptDeletionVector, match="version 1"):
        read_rows(store, vector)
    other = open_store("memory://offsets/t")
    other.put_if_absent("deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", FRAMES)
    with pytest.raises(CorruptDeletionVector, match="44 by the descriptor"):
        read_rows(other, descriptor("u", "vBn[lx{q8@P<9BNH/isA", 44, 6))


@pytest.mark.conformance("DV-020")
def test_a_cardinality_that_lies_is_refused() -> None:
    with pytest.raises(CorruptDeletionVector, match="masks 6 rows, but 5 by the descriptor"):
        read_rows(open_store("memory://vectors/t"), descriptor("i", INLINE, 44, 5))


@pytest.mark.conformance("DV-016")
def test_rows_beyond_the_range_are_refused() -> None:
    data = encode_bitmap(np.array([1 << 63], np.uint64))
    with pytest.raises(CorruptDeletionVector, match="beyond"):
        decode_bitmap(data, DeletionVectorId("i", ""))


def test_encoding_gives_the_bytes_of_the_worked_example() -> None:
    data = encode_bitmap(np.array(ROWS, np.uint64))
    assert data == FRAMES[5:49]
    assert zlib.crc32(data) == 0xACD74A79
    assert z85_encode(data) == INLINE


@pytest.mark.conformance("DV-015", "DV-017")
@pytest.mark.parametrize("parts", [[], [[5]], [[0, 7], [], [1, 4_294_967_295]]])
def test_a_bitmap_of_the_older_form_gives_the_rows_of_each_of_its_parts(parts: list[list[int]]) -> None:
    bitmaps = [BitMap(part).serialize() for part in parts]
    data = struct.pack("<ii", 1681511376, len(parts)) + b"".join(struct.pack("<i", len(b)) + b for b in bitmaps)
    rows = decode_bitmap(data, DeletionVectorId("i", ""))
    assert rows.tolist() == [(high << 32) + low for high, part in enumerate(parts) for low in part]
    assert rows.dtype == np.uint64


# One byte more than there is, and the size that is there with its own four bytes counted.
@pytest.mark.parametrize("size", [-1, 100, len(BitMap([6]).serialize()) + 1, len(BitMap([6]).serialize()) + 4])
def test_a_part_of_the_older_form_that_lies_about_its_size_is_refused(size: int) -> None:
    first = BitMap([5]).serialize()
    data = struct.pack("<iii", 1681511376, 2, len(first)) + first + struct.pack("<i", size) + BitMap([6]).serialize()
    with pytest.raises(CorruptDeletionVector, match="a part reaches beyond the end"):
        decode_bitmap(data, DeletionVectorId("i", ""))


def test_a_count_of_parts_with_the_top_bit_is_more_than_the_bytes_hold_and_not_none() -> None:
    with pytest.raises(CorruptDeletionVector, match="cannot be decoded"):
        decode_bitmap(struct.pack("<ii", 1681511376, -1), DeletionVectorId("i", ""))


@pytest.mark.parametrize("length", range(4))
def test_bytes_that_are_shorter_than_a_magic_number_are_refused(length: int) -> None:
    with pytest.raises(CorruptDeletionVector, match=r"vector iabc .*it is shorter than its magic number"):
        decode_bitmap(encode_bitmap(np.array(ROWS, np.uint64))[:length], DeletionVectorId("i", "abc"))


def test_what_is_wrong_with_a_vector_is_told_of_it_and_of_its_file() -> None:
    with pytest.raises(CorruptDeletionVector) as refused:
        decode_bitmap(b"\x00" * 8, DeletionVectorId("p", "file:///v.bin", 1))
    assert (refused.value.unique_id, refused.value.path) == ("pfile:///v.bin@1", "file:///v.bin")
    with pytest.raises(CorruptDeletionVector, match=r"inline bytes are 44, but 45 by the descriptor") as refused:
        read_rows(open_store("memory://vectors/t"), descriptor("i", INLINE, 45, 6))
    assert (refused.value.unique_id, refused.value.path) == (f"i{INLINE}", None)
    with pytest.raises(CorruptDeletionVector, match="not Z85") as refused:
        read_rows(open_store("memory://vectors/t"), descriptor("i", "Hell~", 4, 1))
    assert refused.value.unique_id == "iHell~"


@pytest.mark.parametrize(
    ("file", "version", "told"),
    [
        (None, None, "without it."),
        ("a.parquet", None, "without it. The data file is a.parquet."),
        ("a.parquet", 7, "without it. The data file is a.parquet of version 7."),
    ],
)
def test_the_data_file_and_the_version_are_told_where_they_are_known(
    file: str | None, version: int | None, told: str
) -> None:
    with pytest.raises(CorruptDeletionVector) as refused:
        read_rows(open_store("memory://vectors/t"), descriptor("i", INLINE, 44, 5), file, version)
    error = refused.value
    assert error.message.endswith(told)
    assert (error.unique_id, error.path, error.version) == (f"i{INLINE}", file, version)


def test_a_place_that_cannot_be_told_is_named_with_its_vector() -> None:
    with pytest.raises(CorruptDeletionVector, match="shorter than the 20 characters of an encoded UUID") as short:
        location(DeletionVectorId("u", "HelloWorld", 1))
    with pytest.raises(CorruptDeletionVector, match="its text is not Z85") as odd:
        location(DeletionVectorId("u", "~" * 20, 1))
    assert (short.value.unique_id, odd.value.unique_id) == ("uHelloWorld@1", f"u{'~' * 20}@1")
    with pytest.raises(UnsupportedFeature) as unknown:
        location(DeletionVectorId("x", "", 1))
    facts = unknown.value.facts()
    assert (facts["features"], facts["operation"]) == (["deletion vector storage type x"], "read a deletion vector")


@pytest.mark.conformance("DV-013")
def test_a_frame_that_ends_within_its_checksum_is_refused() -> None:
    bitmap = encode_bitmap(np.array(ROWS, np.uint64))
    whole = struct.pack(">i", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
    wanted = descriptor("p", "file:///v.bin", len(bitmap), len(ROWS), 1)
    assert unframe(whole, wanted) == bitmap
    for missing in range(1, len(whole) + 1):
        with pytest.raises(CorruptDeletionVector):
            unframe(whole[:-missing], wanted)


def test_a_magic_number_alone_is_a_bitmap_that_cannot_be_decoded() -> None:
    magic = encode_bitmap(np.array(ROWS, np.uint64))[:4]
    with pytest.raises(CorruptDeletionVector, match="its bitmap cannot be decoded"):
        decode_bitmap(magic, DeletionVectorId("i", "abc"))


def test_a_magic_number_is_told_with_its_sign() -> None:
    with pytest.raises(CorruptDeletionVector, match="its magic number is -1, not 1681511377"):
        decode_bitmap(b"\xff" * 8, DeletionVectorId("i", "abc"))


@pytest.mark.conformance("DV-007", "DV-012", "DV-021")
def test_vectors_that_are_written_are_read_from_where_their_descriptors_say() -> None:
    identity = uuid.UUID("61d16c75-6994-46b7-a15b-8b538852e50e")
    masked = [np.array(ROWS, np.uint64), np.array([0, 2**32 + 5], np.uint64)]
    content, descriptors = encode_vectors(identity, masked)
    assert content == FRAMES
    store = open_store("memory://written/t")
    store.put_if_absent(vector_file_name(identity), content)
    assert [location(one.id) for one in descriptors] == [vector_file_name(identity)] * 2
    assert [read_rows(store, one).tolist() for one in descriptors] == [rows.tolist() for rows in masked]


def test_a_size_below_zero_is_none_of_a_frame() -> None:
    with pytest.raises(CorruptDeletionVector, match="the file has 4294967295 bytes by its frame, -1 by the descriptor"):
        unframe(b"\xff" * 16, descriptor("u", "vBn[lx{q8@P<9BNH/isA", -1, 6, 1))
