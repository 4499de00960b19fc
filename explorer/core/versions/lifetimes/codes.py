"""Values as small numbers: each distinct one is kept once, however many rows have it.

Protocol section: Deletion Vector Descriptor Schema. Invariant: two deletion vectors are the same exactly if their
identities are (DV-006), however their parts are spelt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, int64s, strings
from explorer.core.protocol.file_paths import canonical_key

__all__ = ["PathCodes", "VectorCodes"]

_OFFSET_BITS: Final = 33
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1
# Offsets are 32 bits wide and may be negative; 0 is left for none.
_FIRST_OFFSET: Final = (1 << 31) + 1


class PathCodes:
    """Numbers of paths, from 0 in the order in which they were first met.

    Args:
        kept: Those that were numbered before, by number.
    """

    def __init__(self, kept: pa.StringArray | None = None) -> None:
        self._numbers: defaultdict[str, int] | None = defaultdict(count().__next__) if kept is None else None
        self._kept = kept
        # By number of a path as written: the number of the decoded one, -1 where no file was looked up by it.
        self._decoded: Int32s = np.zeros(0, np.int32)
        self._asked: tuple[Sequence[str], Int32s, Int32s] = ((), self._decoded, self._decoded)

    def __len__(self) -> int:
        return len(self._known if self._kept is None else self._kept)

    def copy(self) -> PathCodes:
        """The same numbers, to go on with apart."""
        found = PathCodes(self._kept)
        found._decoded = self._decoded.copy()
        if self._kept is None:
            found._numbers = defaultdict(count(len(self)).__next__, self._known)
        return found

    def of(self, paths: Collection[str]) -> Int32s:
        """The numbers of paths as written; a new one gets the next."""
        known = self._known
        self._kept = None
        return np.fromiter(map(known.__getitem__, paths), np.int32, len(paths))

    def of_files(self, paths: Sequence[str]) -> tuple[Int32s, Int32s]:
        """The numbers of the decoded paths, the same for two spellings of one file, and of the paths as written.

        Raises:
            MalformedAction: A path names no file.
        """
        # A commit that masks rows removes the files that it adds, in the same order.
        if paths != self._asked[0]:
            written = self.of(paths)
            self._asked = (paths, self._decoded_of(written, paths), written)
        return self._asked[1:]

    def _decoded_of(self, written: Int32s, paths: Sequence[str]) -> Int32s:
        """The numbers of decoded paths; only those of new spellings are looked at."""
        self._make_room()
        new = np.flatnonzero(self._decoded[written] < 0)
        if len(new):
            spellings = [paths[place] for place in new.tolist()]
            # All are checked at once, because most need no decoding.
            whole = "\n".join(("", *spellings))
            if "%" in whole or ":" in whole or "\n/" in whole:
                keys = self.of([canonical_key(path) for path in spellings])
                self._make_room()
            else:
                keys = written[new]
            self._decoded[written[new]] = keys
        return self._decoded[written]

    def _make_room(self) -> None:
        """As many places as there are numbers, and more, so that this is rarely needed."""
        lacking = len(self) - len(self._decoded)
        if lacking > 0:
            more = np.full(max(lacking, len(self._decoded)), -1, np.int32)
            self._decoded = np.concatenate([self._decoded, more])

    def distinct(self) -> list[str]:
        """The paths by number."""
        return list(self._known)

    def column(self) -> pa.StringArray:
        """The same as a column."""
        return strings(self.distinct()) if self._kept is None else self._kept

    def texts(self, codes: npt.NDArray[np.generic]) -> pa.StringArray:
        """The paths of some numbers."""
        if self._kept is not None:
            return self._kept.take(int64s(codes.astype(np.int64, copy=False)))
        used, places = np.unique(codes, return_inverse=True)
        known = self.distinct()
        return strings([known[code] for code in used.tolist()]).take(int64s(places))

    @property
    def _known(self) -> defaultdict[str, int]:
        if self._numbers is None:
            paths = [] if self._kept is None else self._kept.to_pylist()
            self._numbers = defaultdict(count(len(paths)).__next__, zip(paths, range(len(paths)), strict=True))
        return self._numbers


class VectorCodes:
    """Numbers of deletion vectors: equal for those with the same spelling, 0 for none.

    Args:
        kept: Storage type, and path or inline bytes, of what was numbered before.
    """

    def __init__(self, kept: Sequence[tuple[str, str]] = ()) -> None:
        # By storage type the numbers of files and inline vectors; all types share one sequence.
        numbers = count(len(kept))
        self._heads: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(numbers.__next__))
        self._listed = list(kept)
        for number, (kind, path) in enumerate(kept):
            self._heads[kind][path] = number

    def copy(self) -> VectorCodes:
        """The same numbers, to go on with apart."""
        return VectorCodes(self._distinct())

    def of(self, vectors: Sequence[DeletionVectorDescriptor | DeletionVectorId | None]) -> Int64s:
        """The numbers of some vectors."""
        found = [vector for vector in vectors if vector is not None]
        if not found:
            return np.zeros(len(vectors), np.int64)
        heads = self._heads_of(found)
        offsets = [0 if vector.offset is None else vector.offset + _FIRST_OFFSET for vector in found]
        numbered = (heads.astype(np.int64) + 1 << _OFFSET_BITS) + np.array(offsets, np.int64)
        if len(found) == len(vectors):
            return numbered
        codes = np.zeros(len(vectors), np.int64)
        codes[np.array([vector is not None for vector in vectors])] = numbered
        return codes

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
        heads = self._distinct()
        return [_identity(heads, code) if code else None for code in codes.tolist()]

    def heads(self, kinds: bool) -> list[str]:
        """Storage types, or else paths and inline bytes, of the places of the vectors."""
        return [kind if kinds else path for kind, path in self._distinct()]

    @staticmethod
    def places(codes: Int64s) -> Int64s:
        """The place in `heads` of each vector, -1 for none."""
        found: Int64s = (codes >> _OFFSET_BITS) - 1
        return found

    @staticmethod
    def offsets(codes: Int64s) -> tuple[Int64s, Mask]:
        """Offset of each vector in its file, in bytes, and where it has one."""
        known: Mask = (codes & _OFFSETS) > 0
        return np.where(known, (codes & _OFFSETS) - _FIRST_OFFSET, 0), known

    def listed(self) -> list[tuple[str, str]]:
        """Storage type, and path or inline bytes, of the places of the vectors."""
        return list(self._distinct())

    def _heads_of(self, vectors: Sequence[DeletionVectorDescriptor | DeletionVectorId]) -> Int32s:
        kinds = {vector.storage_type for vector in vectors}
        if len(kinds) == 1:
            known = self._heads[kinds.pop()].__getitem__
            return np.fromiter(map(known, [vector.path_or_inline_dv for vector in vectors]), np.int32, len(vectors))
        return np.array([self._heads[vector.storage_type][vector.path_or_inline_dv] for vector in vectors], np.int32)

    def _distinct(self) -> list[tuple[str, str]]:
        """Storage type and path, or inline bytes, by number."""
        if len(self._listed) != sum(map(len, self._heads.values())):
            found = {number: (kind, path) for kind, paths in self._heads.items() for path, number in paths.items()}
            self._listed = [found[number] for number in range(len(found))]
        return self._listed


def _identity(heads: Sequence[tuple[str, str]], code: int) -> str:
    kind, path = heads[(code >> _OFFSET_BITS) - 1]
    offset = code & _OFFSETS
    return DeletionVectorId(kind, path, offset - _FIRST_OFFSET if offset else None).unique_id
