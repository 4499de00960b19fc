"""Values as small numbers: each distinct one is kept once, however many rows have it.

Protocol section: Deletion Vector Descriptor Schema. Invariant: two deletion vectors are the same exactly if their
identities are (DV-006), however their parts are spelt.
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

__all__ = ["PathCodes", "VectorCodes"]

_KINDS, _OTHER = ("u", "p", "i"), ""
_OFFSET_BITS: Final = 33
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1
# Offsets are 32 bits wide and may be negative; 0 is left for none.
_FIRST_OFFSET: Final = (1 << 31) + 1


class PathCodes(TextCodes):
    """Numbers of paths, as written and decoded."""

    def __init__(self, kept: pa.StringArray | None = None) -> None:
        super().__init__(kept)
        # By number of a path as written: the number of the decoded one, -1 where no file was looked up by it.
        self._decoded: Int32s = np.zeros(0, np.int32)

    def copy(self) -> Self:
        """The same numbers, to go on with apart."""
        found = super().copy()
        found._decoded = self._decoded.copy()
        return found

    def of_files(self, paths: TextSpans) -> tuple[Int32s, Int32s]:
        """The numbers of the decoded paths, the same for two spellings of one file, and of the paths as written.

        Raises:
            MalformedAction: A path names no file.
        """
        written = self.of(paths)
        return self._decoded_of(written, paths), written

    def _decoded_of(self, written: Int32s, paths: TextSpans) -> Int32s:
        """The numbers of decoded paths; only those of new spellings are looked at."""
        self._decoded = with_room(self._decoded, len(self), -1)
        new = np.flatnonzero(self._decoded[written] < 0)
        if len(new):
            spellings, keys = paths if len(new) == len(paths) else paths[new], written[new]
            # Most need no decoding, whether a percent sign, a colon or a slash at the start has a meaning or not.
            some = np.flatnonzero(spellings.having(b"%") | spellings.having(b":") | spellings.beginning(b"/"))
            if len(some):
                texts = [canonical_key(spellings.text(place)) for place in some.tolist()]
                keys[some] = self.of(TextSpans.of_texts(texts))
                self._decoded = with_room(self._decoded, len(self), -1)
            self._decoded[written[new]] = keys
        return self._decoded[written]


class VectorCodes:
    """Numbers of deletion vectors: equal for those with the same spelling, 0 for none.

    Args:
        kept: Storage type, and path or inline bytes, of what was numbered before.
    """

    def __init__(self, kept: Sequence[tuple[str, str]] = ()) -> None:
        # Files and inline vectors by storage type, and their numbers, which all types share. Of all types that the
        # protocol does not know there is one table.
        self._codes = {kind: TextCodes() for kind in (*_KINDS, _OTHER)}
        self._numbers = {kind: np.zeros(0, np.int64) for kind in self._codes}
        self._listed = list(kept)
        for table, codes in self._codes.items():
            rows = [number for number, (kind, _) in enumerate(kept) if _table(kind) == table]
            codes.of(TextSpans.of_texts(["".join((_before(kept[row][0]), kept[row][1])) for row in rows]))
            self._numbers[table] = np.array(rows, np.int64)

    def copy(self) -> VectorCodes:
        """The same numbers, to go on with apart."""
        found = VectorCodes()
        found._codes = {kind: codes.copy() for kind, codes in self._codes.items()}
        found._numbers, found._listed = dict(self._numbers), list(self._listed)
        return found

    def of(self, vectors: Sequence[DeletionVectorDescriptor | DeletionVectorId | None]) -> Int64s:
        """The numbers of some vectors."""
        codes, places = np.zeros(len(vectors), np.int64), defaultdict[str, list[int]](list)
        for place, vector in enumerate(vectors):
            if vector is not None:
                places[_table(vector.storage_type)].append(place)
        for table, chosen in places.items():
            found = [cast(DeletionVectorId, vectors[place]) for place in chosen]
            offsets = [0 if vector.offset is None else vector.offset + _FIRST_OFFSET for vector in found]
            texts = [_before(vector.storage_type) + vector.path_or_inline_dv for vector in found]
            codes[chosen] = self._numbered(table, TextSpans.of_texts(texts)) + np.array(offsets, np.int64)
        return codes

    def of_texts(self, kind: str, paths: TextSpans, offsets: Int64s | None) -> Int64s:
        """The numbers of vectors of one storage type, with their offsets if they have one."""
        before = _before(kind)
        texts = TextSpans.of_texts([before + paths.text(row) for row in range(len(paths))]) if before else paths
        found = self._numbered(_table(kind), texts)
        return found if offsets is None else found + offsets + _FIRST_OFFSET

    def _numbered(self, table: str, texts: TextSpans) -> Int64s:
        """The numbers of vectors without an offset."""
        known = self._codes[table]
        count = len(known)
        codes = known.of(texts)
        if len(known) > count:
            new = [_head(table, text) for text in known.texts(np.arange(count, len(known))).to_pylist()]
            numbers = np.arange(len(self._listed), len(self._listed) + len(new))
            self._numbers[table] = np.concatenate([self._numbers[table], numbers])
            self._listed += new
        found: Int64s = self._numbers[table][codes] + 1 << _OFFSET_BITS
        return found

    def differ(self, some: Int64s, others: Int64s) -> Mask:
        """For pairs of numbers, whether their vectors differ."""
        differs: Mask = some != others
        # One spelling may have the offset inside of its path: "x@1" without an offset is "x" with the offset 1.
        apart = ((some & _OFFSETS) == 0) != ((others & _OFFSETS) == 0)
        places = np.flatnonzero(differs & apart & (some > 0) & (others > 0))
        if len(places):
            pairs = zip(self.identities(some[places]), self.identities(others[places]), strict=True)
            differs[places] = [identity != other for identity, other in pairs]
        return differs

    def identities(self, codes: Int64s) -> list[str | None]:
        """Identity of each vector (DV-006), None for none."""
        heads = self._listed
        return [_identity(heads, code) if code else None for code in codes.tolist()]

    @staticmethod
    def places(codes: Int64s) -> Int64s:
        """The place in `listed` of each vector, -1 for none."""
        found: Int64s = (codes >> _OFFSET_BITS) - 1
        return found

    @staticmethod
    def offsets(codes: Int64s) -> tuple[Int64s, Mask]:
        """Offset of each vector in its file, in bytes, and where it has one."""
        known: Mask = (codes & _OFFSETS) > 0
        return np.where(known, (codes & _OFFSETS) - _FIRST_OFFSET, 0), known

    def listed(self) -> list[tuple[str, str]]:
        """Storage type, and path or inline bytes, of the places of the vectors."""
        return list(self._listed)


def _table(kind: str) -> str:
    return kind if kind in _KINDS else _OTHER


def _before(kind: str) -> str:
    """What stands before the texts of a storage type, which tells it from all others."""
    return "" if kind in _KINDS else f"{len(kind)}:{kind}"


def _head(table: str, text: str) -> tuple[str, str]:
    """The storage type and the path or inline bytes of a text in a table."""
    if table != _OTHER:
        return table, text
    length, _, rest = text.partition(":")
    return rest[: int(length)], rest[int(length) :]


def _identity(heads: Sequence[tuple[str, str]], code: int) -> str:
    kind, path = heads[(code >> _OFFSET_BITS) - 1]
    offset = code & _OFFSETS
    return DeletionVectorId(kind, path, offset - _FIRST_OFFSET if offset else None).unique_id
