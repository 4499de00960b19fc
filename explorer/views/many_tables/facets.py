"""Facets of a list of tables: how many tables have each value, and which of them match what a person chose.

Invariants: values of one facet are alternatives, facets narrow each other; a count is of the tables that choosing the
value would show if no other value of its facet were chosen; a column and a type that are chosen together are those of
one column; counts are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import Mask, flags, int64s, strings
from explorer.views.many_tables.bins import BINS
from explorer.views.many_tables.choice import FACETS, FacetChoice
from explorer.views.many_tables.record import TextColumn, TraitsRecord

SHOWN: Final = 6
"""Values of a facet that are shown at once."""
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet: its key in addresses, its name, how many tables have it, and whether it is chosen."""

    key: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class FacetView:
    """A facet.

    Attributes:
        name: Its key in addresses.
        values: Its values; of texts the most frequent first, of ranges in order.
        total: How many values it has.
        is_range: Whether its values are ranges of an amount.
        most: The largest count.
    """

    name: str
    values: tuple[FacetValue, ...]
    total: int
    is_range: bool
    most: int

    @property
    def title(self) -> str:
        """Its title."""
        return FACETS[self.name]

    @property
    def first(self) -> tuple[FacetValue, ...]:
        """The values that are shown at once: the most frequent, and those that are chosen."""
        if self.is_range:
            return self.values
        return tuple(value for place, value in enumerate(self.values) if place < SHOWN or value.chosen)

    @property
    def rest(self) -> tuple[FacetValue, ...]:
        """The values behind them."""
        return () if self.is_range else tuple(value for value in self.values[SHOWN:] if not value.chosen)


@dataclass(frozen=True, slots=True)
class Faceted:
    """A list of tables, filtered.

    Attributes:
        matches: Which tables match the choice, and everything else.
        chosen: Which match the choice alone.
        facets: The facets with their counts, those without any value left out.
    """

    matches: Mask
    chosen: Mask
    facets: tuple[FacetView, ...]


def faceted(record: TraitsRecord, choice: FacetChoice, base: Mask, now: int, column: str = "") -> Faceted:
    """Filter tables, and count the values of each facet.

    Args:
        record: The tables.
        choice: The chosen values.
        base: The tables that match everything else.
        now: ms since the epoch.
        column: A part of a column's name, in any case, that a table must have; empty for any table.
    """
    names = [name for name in FACETS if name not in {"column", "type"}]
    by_name = {name: _Facet.of(record, name, choice.of(name), now) for name in names}
    columns = _Columns(record, choice, column)
    masks = {name: facet.matches for name, facet in by_name.items()} | {"column": columns.matches}
    facets = []
    for name, facet in by_name.items():
        others = (mask for each, mask in masks.items() if each != name)
        facets.append(facet.counted(name, reduce(np.logical_and, others, base)))
    rest = reduce(np.logical_and, (facet.matches for facet in by_name.values()), base)
    facets += [columns.types(rest), columns.names(rest)]
    chosen = reduce(np.logical_and, masks.values())
    return Faceted(base & chosen, chosen, tuple(facet for facet in facets if facet.values))


@dataclass(frozen=True, slots=True)
class _Facet:
    """A facet whose values are those of a flattened column: which are chosen, and the tables that have one of them."""

    column: TextColumn
    keys: tuple[str, ...] | None
    labels: tuple[str, ...] | None
    chosen: tuple[str, ...]
    matches: Mask

    @classmethod
    def of(cls, record: TraitsRecord, name: str, chosen: tuple[str, ...], now: int) -> _Facet:
        bins = BINS.get(name)
        if bins is None:
            column, keys, labels = record.texts(name), None, None
            wanted = _coded(column, chosen)
        else:
            amounts = record.amounts("last" if name == "silent" else name)
            places = bins.places(now - amounts if name == "silent" else amounts)
            rows = np.flatnonzero(places >= 0)
            column, keys, labels = TextColumn(strings([]), places[rows], rows), bins.keys, bins.labels
            wanted = np.array([key in chosen for key in bins.keys])
        return cls(column, keys, labels, chosen, _rows(len(record), column, wanted) if chosen else _all(record))

    def counted(self, name: str, among: Mask) -> FacetView:
        if self.keys is None or self.labels is None:
            return _view(name, self.column, among, self.chosen)
        counts = np.bincount(self.column.codes[among[self.column.rows]], minlength=len(self.keys)).tolist()
        values = tuple(
            FacetValue(key, label, count, key in self.chosen)
            for key, label, count in zip(self.keys, self.labels, counts, strict=True)
        )
        known = any(counts) or self.chosen
        return FacetView(name, values if known else (), len(values), True, max(counts, default=0))


class _Columns:
    """Columns by a part of their name, by name, and by type: all of them conditions of one column."""

    def __init__(self, record: TraitsRecord, choice: FacetChoice, part: str) -> None:
        self._record = record
        self._names, self._kinds = record.texts("column"), record.texts("type")
        self._chosen_names, self._chosen_types = choice.of("column"), choice.of("type")
        elements = len(self._names.codes)
        self._part = np.ones(elements, bool)
        if part:
            named = pc.match_substring(self._names.values, part, ignore_case=True)
            self._part = flags(named)[self._names.codes]
        self._is_part = bool(part)
        self._named = self._part
        if self._chosen_names:
            self._named = self._part & _coded(self._names, self._chosen_names)[self._names.codes]
        self._typed = np.ones(elements, bool)
        if self._chosen_types:
            self._typed = _coded(self._kinds, self._chosen_types)[self._kinds.codes]
        self.matches: Mask = _all(record)
        if part or self._chosen_names or self._chosen_types:
            self.matches = np.zeros(len(record), bool)
            self.matches[self._names.rows[self._named & self._typed]] = True

    def names(self, among: Mask) -> FacetView:
        """Return the names, among columns whose name and type match."""
        chosen = self._part & self._typed
        return _view("column", self._only(self._names, chosen), among, self._chosen_names)

    def types(self, among: Mask) -> FacetView:
        """Return the types, each counted once for a table, among columns whose name matches."""
        if not (self._is_part or self._chosen_names):
            return _view("type", self._record.types, among, self._chosen_types)
        kinds = self._only(self._kinds, self._named)
        many = max(len(kinds.values), 1)
        once = np.unique(kinds.rows * many + kinds.codes)
        return _view("type", TextColumn(kinds.values, once % many, once // many), among, self._chosen_types)

    @staticmethod
    def _only(column: TextColumn, chosen: Mask) -> TextColumn:
        return TextColumn(column.values, column.codes[chosen], column.rows[chosen])


def _view(name: str, column: TextColumn, among: Mask, chosen: tuple[str, ...]) -> FacetView:
    """Return the values of a column of texts, counted among some tables; those that are chosen are always there."""
    counts = np.bincount(column.codes[among[column.rows]], minlength=len(column.values))
    order = np.argsort(-counts, kind="stable")
    present = int(np.count_nonzero(counts))
    first = order[: min(present, _MOST)]
    values = {
        text: FacetValue(text, text, int(count), text in chosen)
        for text, count in zip(column.values.take(int64s(first)).to_pylist(), counts[first].tolist(), strict=True)
    }
    ordered = sorted(values.values(), key=lambda value: (-value.count, value.key))
    # What is chosen can be taken back, also where no table has it.
    missing = {key: 0 for key in chosen if key not in values}
    if missing:
        codes = pc.index_in(column.values, value_set=strings(list(missing))).to_pylist()
        missing |= {list(missing)[code]: int(counts[place]) for place, code in enumerate(codes) if code is not None}
    ordered += [FacetValue(key, key, count, True) for key, count in missing.items()]
    return FacetView(name, tuple(ordered), present, False, int(counts.max(initial=0)))


def _coded(column: TextColumn, chosen: tuple[str, ...]) -> Mask:
    """Return which of the distinct texts of a column are chosen."""
    return flags(pc.is_in(column.values, value_set=strings(chosen)))


def _rows(length: int, column: TextColumn, wanted: Mask) -> Mask:
    """Return the rows of which an element is wanted."""
    matches = np.zeros(length, bool)
    matches[column.rows[wanted[column.codes]]] = True
    return matches


def _all(record: TraitsRecord) -> Mask:
    return np.ones(len(record), bool)
