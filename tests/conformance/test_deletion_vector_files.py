"""Deletion vectors as the log describes them and as they lie in files, the golden tables' own included."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap

import explorer
from explorer.core.errors import CorruptDeletionVector, ExplorerError
from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.deletion_vectors import decode_bitmap, encode_bitmap, z85_encode
from tests.support.logs.small_logs import MASKED, METADATA, table
from tests.support.shared_tables import golden_root

SAMPLES = {
    "relative": {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 4,
        "sizeInBytes": 40,
        "cardinality": 6,
    },
    "absolute": {
        "storageType": "p",
        "pathOrInlineDv": "s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
        "offset": 4,
        "sizeInBytes": 40,
        "cardinality": 6,
    },
    "inline": {
        "storageType": "i",
        "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40,
        "cardinality": 6,
    },
}
NO_VECTOR = DeletionVectorId("i", "")


def _masked(name: str, vector: object, records: int | None = 30) -> bytes:
    file = {"path": name, "partitionValues": {}, "size": 1, "modificationTime": 1, "deletionVector": vector}
    return json.dumps({"add": file | ({} if records is None else {"stats": f'{{"numRecords":{records}}}'})}).encode()


@pytest.mark.conformance("DV-004", "DV-006")
def test_the_descriptors_of_the_samples_are_read() -> None:
    found = table({0: (MASKED, METADATA, *(_masked(name, vector) for name, vector in SAMPLES.items()))})
    rows = {row["path"]: row for row in found.snapshot().deletion_vectors().to_pylist()}
    for name, sample in SAMPLES.items():
        row = rows[name]
        assert (row["storage_type"], row["size_in_bytes"], row["cardinality"]) == (sample["storageType"], 40, 6)
        assert row["offset"] == sample.get("offset")
    file = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert [rows[name]["file"] for name in SAMPLES] == [f"ab/{file}", f"s3://mytable/{file}", None]
    assert rows["relative"]["unique_id"] == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert rows["inline"]["unique_id"] == f"i{SAMPLES['inline']['pathOrInlineDv']}"


@pytest.mark.conformance("DV-006")
def test_an_offset_of_zero_is_part_of_the_identity_and_an_absent_one_is_not() -> None:
    assert DeletionVectorDescriptor("u", "x", 1, 1, 0).unique_id == "ux@0"
    assert DeletionVectorDescriptor("u", "x", 1, 1).unique_id == "ux"


def _portable(*keys: int) -> bytes:
    one = BitMap([7]).serialize()
    return b"\xd1\xd3\x39\x64" + struct.pack("<Q", len(keys)) + b"".join(struct.pack("<I", key) + one for key in keys)


@pytest.mark.conformance("DV-016")
@pytest.mark.parametrize("keys", [(0x80000000,), (0, 0xFFFFFFFF), (5, 2), (3, 3)])
def test_high_words_with_the_top_bit_or_out_of_order_are_refused(keys: tuple[int, ...]) -> None:
    with pytest.raises(CorruptDeletionVector):
        decode_bitmap(_portable(*keys), NO_VECTOR)


@pytest.mark.conformance("DV-015", "DV-016")
def test_high_words_up_to_the_largest_are_read_as_the_upper_half_of_the_row() -> None:
    assert decode_bitmap(_portable(0, 2, 0x7FFFFFFF), NO_VECTOR).tolist() == [7, (2 << 32) + 7, (0x7FFFFFFF << 32) + 7]


@pytest.mark.conformance("DV-018")
@pytest.mark.parametrize("magic", [1681511379, 1681511375, 0, -1])
def test_any_other_magic_number_is_refused(magic: int) -> None:
    with pytest.raises(CorruptDeletionVector, match="magic"):
        decode_bitmap(struct.pack("<i", magic) + _portable(0)[4:], NO_VECTOR)


def _inline(rows: list[int], cardinality: int) -> dict[str, object]:
    data = encode_bitmap(np.array(rows, np.uint64))
    text = z85_encode(data)
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": cardinality}


@pytest.mark.conformance("DV-020")
@pytest.mark.parametrize(
    ("rows", "cardinality", "records", "fits"),
    [([0, 29], 2, 30, True), ([0, 30], 2, 30, False), ([0, 29], 3, 30, False), ([30], 1, None, True), ([], 0, 0, True)],
)
def test_a_vector_masks_as_many_rows_as_it_says_and_none_beyond_the_file(
    rows: list[int], cardinality: int, records: int | None, fits: bool
) -> None:
    snapshot = table({0: (MASKED, METADATA, _masked("f", _inline(rows, cardinality), records))}).snapshot()
    if fits:
        assert snapshot.deletion_vector_rows("f").tolist() == rows
    else:
        with pytest.raises(CorruptDeletionVector):
            snapshot.deletion_vector_rows("f")


@pytest.mark.conformance("DV-002")
@pytest.mark.parametrize("enabled", [None, "false"])
def test_vectors_count_whatever_the_property_says(enabled: str | None) -> None:
    configuration = {} if enabled is None else {"delta.enableDeletionVectors": enabled}
    metadata = json.dumps({"metaData": METADATA.to_wire() | {"configuration": configuration}}).encode()
    snapshot = table({0: (MASKED, metadata, _masked("f", _inline([3, 4], 2)))}).snapshot()
    assert (snapshot.num_records, snapshot.num_deleted_records) == (30, 2)
    assert snapshot.deletion_vector_rows("f").tolist() == [3, 4]


def _golden_tables() -> list[str]:
    root = golden_root() / "tables"
    return sorted(path.name for path in root.iterdir() if any(path.rglob("deletion_vector_*.bin")))


@pytest.mark.golden
@pytest.mark.conformance("DV-011", "DV-012", "DV-013", "DV-014", "DV-015", "DV-020")
def test_every_vector_file_of_the_golden_tables_is_read_and_fits_its_descriptor() -> None:
    read: set[tuple[str, str]] = set()
    for name in _golden_tables():
        found = explorer.open_table(Path(golden_root() / "tables" / name))
        try:
            versions = range(found.version_range()[0], found.latest_version() + 1)
            snapshots = [found.snapshot(version) for version in versions]
        except ExplorerError:
            continue
        for snapshot in snapshots:
            for row in snapshot.deletion_vectors().to_pylist():
                if row["storage_type"] == "i" or (name, row["unique_id"]) in read:
                    continue
                assert len(snapshot.deletion_vector_rows(row["raw_path"])) == row["cardinality"]
                assert row["offset"] >= 1
                read.add((name, row["unique_id"]))
    assert len(read) >= 20
