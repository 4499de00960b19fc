"""Deletion vector files of the demo.

Protocol section: Deletion Vector File Storage Format.
"""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from explorer.core.actions import DeletionVectorDescriptor
from explorer.core.deletion_vectors import FILE_VERSION, encode_bitmap, z85_encode

__all__ = ["write_vectors"]


def write_vectors(
    folder: Path, identity: uuid.UUID, masks: Sequence[npt.NDArray[np.bool_]], modified: int
) -> list[DeletionVectorDescriptor]:
    """Write one file that holds a vector for each mask (True = masked row); returns their descriptors in order.

    Args:
        folder: The table's root.
        identity: Names the file.
        masks: One flag a row of the data file.
        modified: Modification time to set, ms since the epoch.
    """
    content = bytearray([FILE_VERSION])
    descriptors = []
    for mask in masks:
        rows = np.flatnonzero(mask).astype(np.uint64)
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
    path = folder / f"deletion_vector_{identity}.bin"
    path.write_bytes(content)
    os.utime(path, (modified / 1000, modified / 1000))
    return descriptors
