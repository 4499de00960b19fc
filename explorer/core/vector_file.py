"""The bytes of a file of deletion vectors, and the descriptors that point into it.

Protocol section: Deletion Vector File Storage Format. Invariants: a file is written once (DV-023); each vector is
framed by its size and its CRC-32, big-endian; bitmaps are portable and little-endian (DV-021).
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from explorer.core.actions import DeletionVectorDescriptor
from explorer.core.deletion_vectors import FILE_VERSION, encode_bitmap, z85_encode

__all__ = ["encode_vectors", "vector_file_name"]


def vector_file_name(identity: uuid.UUID) -> str:
    """Name of the file in the table's root."""
    return f"deletion_vector_{identity}.bin"


def encode_vectors(
    identity: uuid.UUID, masked: Sequence[npt.NDArray[np.uint64]]
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """Encode a vector for each array of masked row indexes.

    Args:
        identity: Names the file.
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
