"""Deletion vectors: descriptor -> location, bytes <-> row indexes.

Protocol sections: Deletion Vectors, Deletion Vector Descriptor Schema, Deletion Vector Format. Invariants: version,
size and CRC-32 of a stored vector are checked (DV-013, DV-014); the bitmap is 64-bit portable Roaring with keys below
2^31 (DV-015, DV-016); the cardinality must equal the descriptor's (DV-020). Row indexes are 0-based positions in the
Parquet file (DV-019).
"""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer.core.errors import CorruptDeletionVector, UnsupportedFeature
from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.counted import counted
from explorer.core.protocol.file_locations import place_of
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.limits import check_masked_rows
from explorer.core.protocol.log_store import LogStore

RowIndexes = npt.NDArray[np.uint64]

MAGIC: Final = 1681511377
LEGACY_MAGIC: Final = 1681511376
FILE_VERSION: Final = 1
# Bytes before a vector that are fetched with it, as they take less time than a request.
_NEAR: Final = 1 << 16
_Z85: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_NO_DIGIT: Final = 85
_DIGITS: Final = np.full(256, _NO_DIGIT, np.uint8)
_DIGITS[np.frombuffer(_Z85, np.uint8)] = np.arange(85)
_POWERS: Final = np.array([85**4, 85**3, 85**2, 85, 1], np.uint64)
_TO_Z85: Final = bytes.maketrans(_B85, _Z85)


def read_rows(
    store: LogStore, descriptor: DeletionVectorDescriptor, file: str | None = None, version: int | None = None
) -> RowIndexes:
    """Read the masked row indexes of one deletion vector, ascending.

    Raises:
        CorruptDeletionVector: The bytes do not match the descriptor, or the file is missing.
        UnsupportedFeature: The storage type is not known (DV-005).
        LimitExceeded: It masks more rows than are listed here.
    """
    try:
        return _read_rows(store, descriptor)
    except CorruptDeletionVector as error:
        if file is None:
            raise
        at = "" if version is None else f" of version {version}"
        raise CorruptDeletionVector(
            f"{error.message} The data file is {file}{at}.", unique_id=descriptor.unique_id, path=file, version=version
        ) from error


def check_descriptor(descriptor: DeletionVectorDescriptor, records: int | None = None) -> None:
    """Check all that a descriptor shows by itself: its location and numbers, and the bitmap of one that is inline.

    Args:
        records: The number of rows of its file by the statistics; None if not known.

    Raises:
        CorruptDeletionVector: No reader can use it.
        UnsupportedFeature: The storage type is not known.
        LimitExceeded: It masks more rows than are listed here.
    """
    where = location(descriptor.id)
    _check_numbers(descriptor)
    if where is not None and not descriptor.offset:
        raise _corrupt(
            descriptor.id, f"its offset is {'missing' if descriptor.offset is None else 0}, and the first is 1"
        )
    if where is None:
        rows = decode_bitmap(_inline_bytes(descriptor), descriptor.id)
        _check_rows(rows, descriptor)
        if records is not None and len(rows) and rows[-1] >= records:
            reason = f"it masks row {int(rows[-1])}, but the file's statistics count {counted(records, 'row')}"
            raise _corrupt(descriptor.id, reason)


def _check_numbers(descriptor: DeletionVectorDescriptor) -> None:
    numbers = {
        "sizeInBytes": descriptor.size_in_bytes,
        "cardinality": descriptor.cardinality,
        "offset": descriptor.offset or 0,
    }
    for name, value in numbers.items():
        if value < 0:
            raise _corrupt(descriptor.id, f"its {name} is {value}")


def location(vector: DeletionVectorId) -> str | None:
    """Return the decoded location of the vector's file, relative to the table's root or absolute; None if inline.

    Raises:
        CorruptDeletionVector: The text does not encode a UUID.
        UnsupportedFeature: The storage type is not known.
    """
    match vector.storage_type:
        case "i":
            return None
        case "p":
            return decode_path(vector.path_or_inline_dv)
        case "u":
            prefix, encoded = vector.path_or_inline_dv[:-20], vector.path_or_inline_dv[-20:]
            raw = z85_decode(encoded, vector)
            if len(raw) != 16:
                raise _corrupt(vector, "its path is shorter than the 20 characters of an encoded UUID")
            name = f"deletion_vector_{uuid.UUID(bytes=raw)}.bin"
            return f"{prefix}/{name}" if prefix else name
        case other:
            raise UnsupportedFeature(
                f"A deletion vector has the storage type {other!r}; the protocol has u, p, and i. "
                "Its rows cannot be hidden, so the file is not read.",
                features=[f"deletion vector storage type {other}"],
                operation="read a deletion vector",
            )


def unframe(frame: bytes, descriptor: DeletionVectorDescriptor) -> bytes:
    """Check the frame of a stored vector (size, bytes, CRC-32; big-endian) and return the bitmap's bytes."""
    if len(frame) < 4:
        raise _corrupt(descriptor.id, "the file ends before the vector begins")
    (size,) = struct.unpack_from(">I", frame)
    if size != descriptor.size_in_bytes:
        raise _corrupt(
            descriptor.id, f"the file has {size} bytes by its frame, {descriptor.size_in_bytes} by the descriptor"
        )
    if len(frame) < size + 8:
        raise _corrupt(descriptor.id, "the file ends within the vector")
    data = frame[4 : 4 + size]
    (checksum,) = struct.unpack_from(">I", frame, 4 + size)
    if zlib.crc32(data) != checksum:
        raise _corrupt(descriptor.id, f"its CRC-32 is {zlib.crc32(data):08x}, but {checksum:08x} in the file")
    return data


def decode_bitmap(data: bytes, vector: DeletionVectorId) -> RowIndexes:
    """Decode a bitmap, portable or legacy little-endian (D-11), to ascending row indexes."""
    from pyroaring import BitMap64

    if len(data) < 4:
        raise _corrupt(vector, "it is shorter than its magic number")
    (magic,) = struct.unpack_from("<i", data)
    try:
        if magic == MAGIC:
            bitmap = BitMap64.deserialize(data[4:])
            check_masked_rows(len(bitmap), vector.unique_id)
            rows = np.frombuffer(bitmap.to_array(), dtype=np.uint64)
        elif magic == LEGACY_MAGIC:
            rows = _decode_legacy(data[4:], vector)
        else:
            raise _corrupt(vector, f"its magic number is {magic}, not {MAGIC}")
    except (ValueError, struct.error, IndexError) as error:
        raise _corrupt(vector, f"its bitmap cannot be decoded ({error})") from error
    if len(rows) and int(rows[-1]) >= 1 << 63:
        raise _corrupt(vector, "it masks rows beyond 2^63")
    return rows


def encode_bitmap(rows: RowIndexes) -> bytes:
    """Encode row indexes as magic number and portable bitmap (DV-021)."""
    from pyroaring import BitMap64

    return struct.pack("<i", MAGIC) + BitMap64(rows.tolist()).serialize()


def z85_decode(text: str, vector: DeletionVectorId) -> bytes:
    """Decode Z85 strictly: five characters for four bytes, no others (DV-025)."""
    encoded = np.frombuffer(text.encode("utf-8"), np.uint8)
    digits = _DIGITS[encoded]
    if len(encoded) % 5 or (digits == _NO_DIGIT).any():
        raise _corrupt(vector, "its text is not Z85")
    words = digits.reshape(-1, 5).astype(np.uint64) @ _POWERS
    if (words >= 1 << 32).any():
        raise _corrupt(vector, "its text is not Z85 (five characters are more than four bytes)")
    return words.astype(">u4").tobytes()


def z85_encode(data: bytes) -> str:
    """Encode bytes as Z85, padded with zero bytes to a multiple of four."""
    return base64.b85encode(data, pad=True).translate(_TO_Z85).decode("ascii")


def vector_file_name(identity: uuid.UUID) -> str:
    """Return the name of the file in the table's root."""
    return f"deletion_vector_{identity}.bin"


def encode_vectors(
    identity: uuid.UUID, masked: Sequence[npt.NDArray[np.uint64]]
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """Encode a vector for each array of masked row indexes.

    Args:
        masked: Row indexes, ascending, none of them empty.

    Returns:
        The file's bytes, and the descriptors in the order given.
    """
    content = bytearray([FILE_VERSION])
    descriptors = []
    for rows in masked:
        data = encode_bitmap(rows)
        descriptors.append(
            DeletionVectorDescriptor(
                storage_type="u",
                path_or_inline_dv=z85_encode(identity.bytes),
                size_in_bytes=len(data),
                cardinality=len(rows),
                offset=len(content),
            )
        )
        content += struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return bytes(content), descriptors


def _read_rows(store: LogStore, descriptor: DeletionVectorDescriptor) -> RowIndexes:
    _check_numbers(descriptor)
    if descriptor.storage_type == "i":
        data = _inline_bytes(descriptor)
    else:
        data = unframe(_read_frame(store, descriptor), descriptor)
    rows = decode_bitmap(data, descriptor.id)
    _check_rows(rows, descriptor)
    return rows


def _inline_bytes(descriptor: DeletionVectorDescriptor) -> bytes:
    data = z85_decode(descriptor.path_or_inline_dv, descriptor.id)[: descriptor.size_in_bytes]
    if len(data) != descriptor.size_in_bytes:
        reason = f"the inline bytes are {len(data)}, but {descriptor.size_in_bytes} by the descriptor"
        raise _corrupt(descriptor.id, reason)
    return data


def _check_rows(rows: RowIndexes, descriptor: DeletionVectorDescriptor) -> None:
    if len(rows) != descriptor.cardinality:
        raise _corrupt(descriptor.id, f"it masks {len(rows)} rows, but {descriptor.cardinality} by the descriptor")


def _read_frame(store: LogStore, descriptor: DeletionVectorDescriptor) -> bytes:
    where = location(descriptor.id)
    assert where is not None
    offset, size = descriptor.offset or 0, descriptor.size_in_bytes + 8
    holder, key = place_of(store, where)
    try:
        # Where the vector is near the version, one request fetches both.
        start = holder.read_range(key, 0, offset + size if 0 < offset <= _NEAR and size > 0 else 1)
        if start[:1] != bytes([FILE_VERSION]):
            raise _corrupt(descriptor.id, f"the file {where} is not of version {FILE_VERSION}")
        return start[offset:] if 0 < offset <= _NEAR and size > 0 else holder.read_range(key, offset, size)
    except FileNotFoundError as error:
        raise _corrupt(descriptor.id, f"its file {where} is missing") from error


def _decode_legacy(data: bytes, vector: DeletionVectorId) -> RowIndexes:
    """Decode a legacy bitmap: count, then size and bytes of one 32-bit bitmap for each high word, little-endian."""
    from pyroaring import BitMap

    (count,) = struct.unpack_from("<I", data)
    position, parts, masked = 4, [], 0
    for high in range(count):
        (size,) = struct.unpack_from("<I", data, position)
        if position + 4 + size > len(data):
            raise ValueError("a part reaches beyond the end")
        low = BitMap.deserialize(data[position + 4 : position + 4 + size])
        masked += len(low)
        check_masked_rows(masked, vector.unique_id)
        parts.append(np.array(low.to_array()) + np.uint64(high << 32))
        position += 4 + size
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _corrupt(vector: DeletionVectorId, reason: str) -> CorruptDeletionVector:
    return CorruptDeletionVector(
        f"The deletion vector {vector.unique_id} cannot be used: {reason}. The rows it hides are not known, so the "
        "file is not read. Restore the vector's file, or rewrite the data file without it.",
        unique_id=vector.unique_id,
        path=vector.path_or_inline_dv if vector.storage_type == "p" else None,
    )
