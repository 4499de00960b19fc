"""An index of the names of many tables: tables, columns, properties, people, findings, each with its table.

A table's names are put in when the table was read; searching never reads. Names are kept as columns, one block a table,
which are joined when they are first searched after a change.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.protocol.arrow.arrays import Int64s
from explorer.core.protocol.schema.data_types import format_column, type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.versions.snapshot import Snapshot
from explorer.views.palette.ranking import Flags, Floats, joined_scores, name_scores, spread_scores, words_of

NameKind: TypeAlias = Literal["table", "column", "property", "person", "finding"]
KINDS: Final[tuple[NameKind, ...]] = get_args(NameKind)
_WEIGHTS: Final = {"table": 8.0, "column": 5.0, "person": 4.0, "finding": 4.0, "property": 3.0}
"""What comes first among names that match as well."""
_HERE: Final = 6.0
_RECENT: Final = 9.0
_MOST_NAMES: Final = 5_000
_LONGEST: Final = 300
MOST_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class Name:
    """One name.

    Attributes:
        kind: What has the name.
        table: The table, as addresses name it.
        text: The name: of a property with its value, of a finding its claim.
        detail: A column's type, how many commits a person made, a finding's rule.
        table_id: The identity of the table, from its metadata; empty where it was not read.
    """

    kind: NameKind
    table: str
    text: str
    detail: str = ""
    table_id: str = ""


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names of one table.

    Attributes:
        table, table_id: As for `Name`.
        kinds: The place of each name's kind in `KINDS`.
        texts, details: As for `Name`, without characters that hide or reorder text.
        folded: The texts as they are compared.
        cut: How many names were left out, as there are too many.
    """

    table: str
    table_id: str
    kinds: npt.NDArray[np.uint8]
    texts: tuple[str, ...]
    details: tuple[str, ...]
    folded: pa.StringArray
    cut: int = 0


def table_names(
    table: str, snapshot: Snapshot, people: Mapping[str, int], findings: Sequence[tuple[str, str]] = ()
) -> TableNames:
    """Return the names of a table.

    Args:
        table: Its name in addresses.
        snapshot: Its newest version.
        people: How many commits each person made.
        findings: The claim and the rule of each finding.
    """
    names: list[tuple[int, str, str]] = []
    try:
        columns = [(format_column(path), type_name(each.type)) for path, each in walk(snapshot.schema)]
    except ExplorerError:
        columns = []  # its page says what is wrong with the schema
    names += [(KINDS.index("column"), name, fmt.shorten(kind, 40)) for name, kind in islice(columns, _MOST_NAMES)]
    settings = sorted(snapshot.metadata.configuration.items())
    names += [(KINDS.index("property"), f"{key} = {value}", "") for key, value in settings[:_MOST_NAMES]]
    names += [(KINDS.index("person"), who, fmt.plural(count, "commit")) for who, count in people.items() if who]
    names += [(KINDS.index("finding"), title, rule) for title, rule in findings]
    texts = tuple(fmt.plain(text, _LONGEST) for _, text, _ in names)
    return TableNames(
        table,
        snapshot.metadata.id or "",
        np.array([kind for kind, _, _ in names], dtype=np.uint8),
        texts,
        tuple(fmt.plain(detail, 80) for _, _, detail in names),
        pa.array([text.casefold() for text in texts], pa.string()),
        max(0, len(columns) - _MOST_NAMES) + max(0, len(settings) - _MOST_NAMES),
    )


@dataclass(frozen=True, slots=True)
class Match:
    """A name that matches, and how well."""

    name: Name
    score: float


@dataclass(frozen=True, slots=True)
class Matches:
    """Names that match.

    Attributes:
        best: The best of them, the best first.
        total: How many match.
        by_kind: How many of each kind.
        spread: No name has the words: these have their letters, with others between them.
    """

    best: tuple[Match, ...] = ()
    total: int = 0
    by_kind: Mapping[str, int] = field(default_factory=dict)
    spread: bool = False


@dataclass(frozen=True, slots=True)
class _Joined:
    """All blocks as columns, and where each block begins."""

    blocks: tuple[TableNames, ...]
    starts: Int64s
    kinds: npt.NDArray[np.uint8]
    blocks_of: Int64s
    unique: pa.StringArray
    codes: Int64s
    """Many tables have columns of one name: each is compared once, and counts for every place of its code."""
    lengths: Int64s

    @classmethod
    def of(cls, blocks: Sequence[TableNames]) -> _Joined:
        lengths = np.array([len(block.texts) for block in blocks], dtype=np.int64)
        folded = pa.concat_arrays([block.folded for block in blocks]) if blocks else pa.array([], pa.string())
        encoded = folded.dictionary_encode()
        return cls(
            tuple(blocks),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([block.kinds for block in blocks]) if blocks else np.array([], dtype=np.uint8),
            np.repeat(np.arange(len(blocks)), lengths),
            encoded.dictionary,
            encoded.indices.to_numpy().astype(np.int64),
            _lengths(encoded.dictionary),
        )

    def name(self, place: int) -> Name:
        block = self.blocks[self.blocks_of[place]]
        own = place - int(self.starts[self.blocks_of[place]])
        return Name(KINDS[self.kinds[place]], block.table, block.texts[own], block.details[own], block.table_id)


class NameIndex:
    """The names of tables; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[str, TableNames] = {}
        self._joined: _Joined | None = None

    def put(self, names: TableNames) -> None:
        """Keep the names of a table, in place of those that were kept of it."""
        with self._lock:
            self._blocks[names.table] = names
            self._joined = None

    def keep_only(self, tables: Container[str]) -> None:
        """Forget the names of all other tables."""
        with self._lock:
            self._blocks = {table: names for table, names in self._blocks.items() if table in tables}
            self._joined = None

    def known(self, table: str) -> TableNames | None:
        """Return the names of a table; None if it was not read."""
        with self._lock:
            return self._blocks.get(table)

    def holds(self, name: Name) -> Name | None:
        """Return a name as it is now; None if its table is another one now, or has no such name."""
        block = self.known(name.table)
        if block is None:
            return Name("table", name.table, name.table) if name.kind == "table" else None
        if name.table_id and name.table_id != block.table_id:
            return None
        if name.kind == "table":
            return Name("table", name.table, name.table, "", block.table_id)
        kind = KINDS.index(name.kind)
        matches = (at for at, text in enumerate(block.texts) if text == name.text and block.kinds[at] == kind)
        at = next(matches, None)
        return None if at is None else Name(name.kind, name.table, name.text, block.details[at], block.table_id)

    def search(
        self,
        text: str,
        tables: Sequence[str],
        *,
        here: str = "",
        recent: Collection[Name] = (),
        most: int = MOST_SHOWN,
        kinds: Collection[str] = KINDS,
    ) -> Matches:
        """Return the names that match a text.

        Args:
            text: What a person typed.
            tables: The tables that are served, also those that were not read: no other is in the answer.
            here: The table on show, whose names come first among equals.
            recent: Names that the person chose before, and their tables.
            most: How many are returned.
            kinds: What is searched.
        """
        words = words_of(text)
        joined = self._all()
        shown = [fmt.plain(table, _LONGEST) for table in tables]
        table_texts = pa.array([name.casefold() for name in shown], pa.string())
        places = {table: place for place, table in enumerate(tables)}
        # The place of each block's table among those that are served; -1 for one that is not.
        served = np.array([places.get(block.table, -1) for block in joined.blocks], dtype=np.int64)
        owners = served[joined.blocks_of] if len(joined.blocks) else np.array([], dtype=np.int64)
        allowed = (owners >= 0) & np.isin(joined.kinds, [KINDS.index(cast("NameKind", kind)) for kind in kinds])
        # The last place is that of -1: a table that is not served, also where none is.
        beside = [
            np.append(_holds(table_texts, word), False)[owners] | _kind_holds(word)[joined.kinds] for word in words
        ]
        unique = [score[joined.codes] for score in name_scores(joined.unique, words)]
        scores = np.where(allowed, joined_scores(unique, beside, len(joined.codes)), 0.0)
        kind_beside = [np.full(len(tables), bool(_kind_holds(word)[0])) for word in words]
        # What a table is called is the last part of its name.
        last = pa.array([name.rpartition("/")[2].casefold() for name in shown], pa.string())
        table_scores = [
            np.maximum(*both) for both in zip(name_scores(table_texts, words), name_scores(last, words), strict=True)
        ]
        own = joined_scores(table_scores, kind_beside, len(tables)) * ("table" in kinds)
        spread = not scores.any() and not own.any() and len(words) == 1
        if spread:
            scores = np.where(allowed, spread_scores(joined.unique, words[0])[joined.codes], 0.0)
            own = spread_scores(table_texts, words[0]) * ("table" in kinds)
        positions, matching_tables = np.flatnonzero(scores), np.flatnonzero(own)
        weights = np.array([_WEIGHTS[kind] for kind in KINDS])
        ranks = scores[positions] + weights[joined.kinds[positions]]
        table_ranks = own[matching_tables] + _WEIGHTS["table"]
        for table in {here, *(name.table for name in recent)} & places.keys():
            bonus = _HERE if table == here else _RECENT
            ranks = ranks + np.where(owners[positions] == places[table], bonus, 0.0)
            table_ranks = table_ranks + np.where(matching_tables == places[table], bonus, 0.0)
        best = _best(ranks, joined.lengths[joined.codes[positions]], most)
        best_tables = _best(table_ranks, _lengths(table_texts)[matching_tables], most)
        matches = [Match(joined.name(int(positions[at])), float(ranks[at])) for at in best]
        for at in best_tables:
            table = tables[int(matching_tables[at])]
            block = self.known(table)
            name = Name("table", table, shown[int(matching_tables[at])], "", block.table_id if block else "")
            matches.append(Match(name, float(table_ranks[at])))
        matches.sort(key=lambda match: (-match.score, len(match.name.text), match.name.table.casefold()))
        counts: dict[str, int] = {
            kind: int((joined.kinds[positions] == place).sum()) for place, kind in enumerate(KINDS)
        }
        counts["table"] = len(matching_tables)
        return Matches(tuple(matches[:most]), len(positions) + len(matching_tables), counts, spread)

    def _all(self) -> _Joined:
        with self._lock:
            if self._joined is None:
                self._joined = _Joined.of([self._blocks[table] for table in sorted(self._blocks, key=str.casefold)])
            return self._joined


def _holds(texts: pa.StringArray, word: str) -> Flags:
    return np.asarray(pc.match_substring(texts, word).to_numpy(zero_copy_only=False), dtype=bool)


def _kind_holds(word: str) -> Flags:
    """Return, for each kind, whether a word names it: ``col`` and ``columns`` do so for columns."""
    plural = {"person": "people", "property": "properties"}
    named = (kind.startswith(word) or word == plural.get(kind, f"{kind}s") for kind in KINDS)
    return np.array([len(word) > 2 and holds for holds in named])


def _lengths(texts: pa.StringArray) -> Int64s:
    return np.asarray(pc.utf8_length(texts).to_numpy(zero_copy_only=False), dtype=np.int64)


def _best(ranks: Floats, lengths: Int64s, most: int) -> Int64s:
    """Return which names come first: by rank, the shorter of equals, then in the order of tables and columns."""
    chosen = np.arange(len(ranks))
    if len(ranks) > 4 * most:
        chosen = np.flatnonzero(ranks >= np.partition(ranks, -most)[-most])
    order = np.lexsort((chosen, lengths[chosen], -ranks[chosen]))
    return chosen[order][:most]
