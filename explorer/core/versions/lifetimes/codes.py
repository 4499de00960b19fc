"""Values as small numbers: each distinct one is stored once, however many rows have it.

Protocol section: Deletion Vector Descriptor Schema. Invariant: two deletion vectors are the same if and only if their
identities are (DV-006), however their parts are spelled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Self, cast

import numpy as np
import pyarrow as pa

from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, with_room
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.versions.lifetimes.text_codes import TextCodes

_KINDS, _OTHER = ("u", "p", "i"), ""
_OFFSET_BITS: Final = 33
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1
# Offsets are 32 bits wide and may be negative; 0 is left for none.
_FIRST_OFFSET: Final = (1 << 31) + 1


class PathCodes(TextCodes):
    """Numbers of paths, as written and decoded."""

    def __init__(self, numbered: pa.StringArray | None = None) -> None:
        super().__init__(numbered)
        # By number of a path as written: the number of the decoded one, -1 where no file was looked up by it.
        self._decoded: Int32s = np.zeros(0, np.int32)

    def copy(self) -> Self:
        """Return a copy of the numbers, to continue independently."""
        codes = super().copy()
        codes._decoded = self._decoded.copy()
        return codes

    def of_files(self, paths: TextSpans) -> tuple[Int32s, Int32s]:
        """Return the numbers of the decoded paths, the same for two spellings of one file, and of the paths as written.

        Raises:
            MalformedAction: A path names no file.
        """
        written = self.of(paths)
        return self._decoded_of(written, paths), written

    def _decoded_of(self, written: Int32s, paths: TextSpans) -> Int32s:
        """Return the numbers of decoded paths; only new spellings are examined."""
        self._decoded = with_room(self._decoded, len(self), -1)
        new = np.flatnonzero(self._decoded[written] < 0)
        if len(new):
            spellings, keys = paths if len(new) == len(paths) else paths[new], written[new]
            # Most are their own keys: a percent sign, a colon, an empty segment and one that ends with a dot are rare.
            some = np.flatnonzero(spellings.having(b"%") | spellings.having(b":") | spellings.having(b"/", after=b"/."))
            if len(some):
                texts = [canonical_key(spellings.text(place)) for place in some.tolist()]
                keys[some] = self.of(TextSpans.of_texts(texts))
                self._decoded = with_room(self._decoded, len(self), -1)
            self._decoded[written[new]] = keys
        return self._decoded[written]


class VectorCodes:
    """Numbers of deletion vectors: equal for those with the same spelling, 0 for none.

    Args:
        numbered: Storage type, and path or inline bytes, of those that already have numbers.
    """

    def __init__(self, numbered: Sequence[tuple[str, str]] = ()) -> None:
        # Files and inline vectors by storage type, and their numbers, which all types share. All types that the
        # protocol does not know share one table.
        self._codes = {kind: TextCodes() for kind in (*_KINDS, _OTHER)}
        self._numbers = {kind: np.zeros(0, np.int64) for kind in self._codes}
        self._listed = list(numbered)
        for table, codes in self._codes.items():
            rows = [number for number, (kind, _) in enumerate(numbered) if _table(kind) == table]
            codes.of(TextSpans.of_texts(["".join((_before(numbered[row][0]), numbered[row][1])) for row in rows]))
            self._numbers[table] = np.array(rows, np.int64)

    def copy(self) -> VectorCodes:
        """Return a copy of the numbers, to continue independently."""
        vector_codes = VectorCodes()
        vector_codes._codes = {kind: codes.copy() for kind, codes in self._codes.items()}
        vector_codes._numbers, vector_codes._listed = dict(self._numbers), list(self._listed)
        return vector_codes

    def of(self, vectors: Sequence[DeletionVectorDescriptor | DeletionVectorId | None]) -> Int64s:
        """Return the numbers of some vectors."""
        codes, rows = np.zeros(len(vectors), np.int64), defaultdict[str, list[int]](list)
        for row, vector in enumerate(vectors):
            if vector is not None:
                rows[_table(vector.storage_type)].append(row)
        for table, chosen in rows.items():
            group = [cast(DeletionVectorId, vectors[row]) for row in chosen]
            offsets = [0 if vector.offset is None else vector.offset + _FIRST_OFFSET for vector in group]
            texts = [_before(vector.storage_type) + vector.path_or_inline_dv for vector in group]
            codes[chosen] = self._numbered(table, TextSpans.of_texts(texts)) + np.array(offsets, np.int64)
        return codes

    def of_texts(self, kind: str, paths: TextSpans, offsets: Int64s | None) -> Int64s:
        """Return the numbers of vectors of one storage type, with their offsets if they have one."""
        before = _before(kind)
        texts = TextSpans.of_texts([before + paths.text(row) for row in range(len(paths))]) if before else paths
        codes = self._numbered(_table(kind), texts)
        return codes if offsets is None else codes + offsets + _FIRST_OFFSET

    def _numbered(self, table: str, texts: TextSpans) -> Int64s:
        """Return the numbers of vectors without an offset."""
        known = self._codes[table]
        count = len(known)
        codes = known.of(texts)
        if len(known) > count:
            new = [_head(table, text) for text in known.texts(np.arange(count, len(known))).to_pylist()]
            numbers = np.arange(len(self._listed), len(self._listed) + len(new))
            self._numbers[table] = np.concatenate([self._numbers[table], numbers])
            self._listed += new
        numbers_of_texts: Int64s = self._numbers[table][codes] + 1 << _OFFSET_BITS
        return numbers_of_texts

    def differ(self, some: Int64s, others: Int64s) -> Mask:
        """Return for pairs of numbers whether their vectors differ."""
        differs: Mask = some != others
        # One spelling may contain the offset: "x@1" without an offset is "x" with the offset 1.
        apart = ((some & _OFFSETS) == 0) != ((others & _OFFSETS) == 0)
        places = np.flatnonzero(differs & apart & (some > 0) & (others > 0))
        if len(places):
            pairs = zip(self.identities(some[places]), self.identities(others[places]), strict=True)
            differs[places] = [identity != other for identity, other in pairs]
        return differs

    def identities(self, codes: Int64s) -> list[str | None]:
        """Return the identity of each vector (DV-006), None for none."""
        heads = self._listed
        return [_identity(heads, code) if code else None for code in codes.tolist()]

    @staticmethod
    def places(codes: Int64s) -> Int64s:
        """Return the index in `listed` of each vector, -1 for none."""
        indexes: Int64s = (codes >> _OFFSET_BITS) - 1
        return indexes

    @staticmethod
    def offsets(codes: Int64s) -> tuple[Int64s, Mask]:
        """Return the offset of each vector in its file, in bytes, and a mask of those that have one."""
        known: Mask = (codes & _OFFSETS) > 0
        return np.where(known, (codes & _OFFSETS) - _FIRST_OFFSET, 0), known

    def listed(self) -> list[tuple[str, str]]:
        """Return storage type, and path or inline bytes, of the vectors by index."""
        return list(self._listed)


def _table(kind: str) -> str:
    return kind if kind in _KINDS else _OTHER


def _before(kind: str) -> str:
    """Return the prefix for texts of a storage type, which distinguishes it from all others."""
    return "" if kind in _KINDS else f"{len(kind)}:{kind}"


def _head(table: str, text: str) -> tuple[str, str]:
    """Return the storage type and the path or inline bytes of a text in a table."""
    if table != _OTHER:
        return table, text
    length, _, rest = text.partition(":")
    return rest[: int(length)], rest[int(length) :]


def _identity(heads: Sequence[tuple[str, str]], code: int) -> str:
    kind, path = heads[(code >> _OFFSET_BITS) - 1]
    offset = code & _OFFSETS
    return DeletionVectorId(kind, path, offset - _FIRST_OFFSET if offset else None).unique_id
