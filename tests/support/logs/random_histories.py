"""Random histories of a small table with real files, and a plain model of what every version holds.

The model keeps, for each version, the live files as lists of rows and the rows of each that are masked; what changed
from one version to the next is worked out from that, never from the log.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.support.logs.spark_tables import column, inline_vector, struct

Row = tuple[Any, ...]
FIELDS = [
    column("id", "long"),
    column("x", "double"),
    column("m", {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}),
    column(
        "s",
        struct(column("a", "integer"), column("t", {"type": "array", "elementType": "double", "containsNull": True})),
    ),
    column("p", "string"),
]
ARROW = pa.schema(
    {
        "id": pa.int64(),
        "x": pa.float64(),
        "m": pa.map_(pa.string(), pa.float64()),
        "s": pa.struct({"a": pa.int32(), "t": pa.list_(pa.float64())}),
    }
)
ZEROS = [0.0, -0.0, math.nan, 1.5, None]
IDS = [None, 1, 2, 3, 4, 5, 6, 7]
MAPS = [
    None,
    [],
    [("k", 1.0)],
    [("k", 1.0), ("l", math.nan)],
    [("l", math.nan), ("k", 1.0)],
    [("k", -0.0)],
    [("k", 0.0)],
]
STRUCTS: list[Any] = [
    None,
    {"a": 1, "t": None},
    {"a": 1, "t": [0.0, None]},
    {"a": 1, "t": [-0.0, None]},
    {"a": None, "t": []},
]
PARTS = [None, "q", "ä b"]


@dataclass(frozen=True)
class File:
    """One file: its rows, its partition, and the places of the rows that are masked."""

    path: str
    rows: tuple[Row, ...]
    part: str | None
    masked: frozenset[int] = frozenset()

    def visible(self) -> list[Row]:
        """The rows a reader sees."""
        return [(*row, self.part) for place, row in enumerate(self.rows) if place not in self.masked]

    def at(self, places: frozenset[int]) -> list[Row]:
        """The rows at some places."""
        return [(*self.rows[place], self.part) for place in sorted(places)]


@dataclass
class Model:
    """The table as it was at each version, and the changes that each made."""

    root: Path
    live: dict[str, File] = field(default_factory=dict)
    states: list[dict[str, File]] = field(default_factory=list)
    changes: list[list[tuple[str, Row]]] = field(default_factory=list)
    made: int = 0

    def rows(self, version: int) -> Counter[str]:
        """The rows of a version, in the form of `canonical`."""
        return Counter(canonical(row) for file in self.states[version].values() for row in file.visible())

    def step(self, data: st.DataObject) -> None:
        """One commit."""
        kinds = (
            ["append", "append"]
            if not self.live
            else ["append", "mask", "mask", "rewrite", "compact", "restore", "drop"]
        )
        match data.draw(st.sampled_from(kinds)):
            case "append":
                self.commit(
                    self.live | self._new(data.draw(st.lists(ROWS, max_size=4)), data.draw(st.sampled_from(PARTS)))
                )
            case "mask":
                self.commit(self.live | self._masked(data))
            case "rewrite":
                self._rewrite(data)
            case "compact":
                self._compact(data)
            case "restore":
                self.commit(dict(data.draw(st.sampled_from(self.states))))
            case _:
                gone = data.draw(st.sampled_from(sorted(self.live)))
                self.commit({path: file for path, file in self.live.items() if path != gone})

    def commit(self, after: dict[str, File], *, data_change: bool = True) -> None:
        """Write a commit that leads to these live files."""
        actions: list[dict[str, Any]] = [] if self.states else _start()
        changes: list[tuple[str, Row]] = []
        for path in sorted({*self.live, *after}):
            old, new = self.live.get(path), after.get(path)
            if old == new:
                continue
            if old is not None:
                actions.append(
                    {
                        "remove": _action(self.root, old, data_change)
                        | {"deletionTimestamp": 1, "extendedFileMetadata": True}
                    }
                )
            if new is not None:
                actions.append(
                    {"add": _action(self.root, new, data_change) | {"modificationTime": 1, "stats": _stats(new)}}
                )
            if data_change:
                changes += _changed(old, new)
        log = self.root / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{len(self.states):020}.json").write_text(text, "utf-8")
        self.live = after
        self.states.append(dict(after))
        self.changes.append(changes)

    def _new(self, rows: list[Row], part: str | None) -> dict[str, File]:
        self.made += 1
        file = File(f"f{self.made}.parquet", tuple(rows), part)
        columns = list(zip(*rows, strict=True)) or [[] for _ in ARROW]
        arrays = [pa.array(list(values), kind) for values, kind in zip(columns, ARROW.types, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=ARROW), self.root / file.path)
        return {file.path: file}

    def _masked(self, data: st.DataObject) -> dict[str, File]:
        file = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        places = st.frozensets(st.sampled_from(range(len(file.rows)))) if file.rows else st.just(frozenset[int]())
        return {file.path: replace(file, masked=data.draw(places))}

    def _rewrite(self, data: st.DataObject) -> None:
        """Copy a file's rows to another, one of them changed."""
        file = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        rows = [row[:-1] for row in file.visible()]
        if rows:
            rows[data.draw(st.integers(0, len(rows) - 1))] = data.draw(ROWS)
        kept = {path: other for path, other in self.live.items() if path != file.path}
        self.commit(kept | self._new(rows, file.part))

    def _compact(self, data: st.DataObject) -> None:
        """Put the files of one partition together, as OPTIMIZE does."""
        part = self.live[data.draw(st.sampled_from(sorted(self.live)))].part
        rows = [row[:-1] for file in self.live.values() if file.part == part for row in file.visible()]
        kept = {path: file for path, file in self.live.items() if file.part != part}
        self.commit(kept | self._new(data.draw(st.permutations(rows)), part), data_change=False)


ROWS = st.tuples(st.sampled_from(IDS), st.sampled_from(ZEROS), st.sampled_from(MAPS), st.sampled_from(STRUCTS))


def canonical(row: Row) -> str:
    """A text that is the same for rows that are the same: both zeros, any NaN, maps in any order."""
    return repr([_canonical(value) for value in row])


def _canonical(value: Any) -> Any:
    match value:
        case float():
            return 0.0 if value == 0 else repr(value)
        case dict():
            return [_canonical(item) for item in value.values()]
        case [(str(), _), *_]:
            return sorted((key, repr(_canonical(item))) for key, item in value)
        case list():
            return [_canonical(item) for item in value]
    return value


def _changed(old: File | None, new: File | None) -> list[tuple[str, Row]]:
    if old is not None and new is not None:
        gone, come = new.masked - old.masked, old.masked - new.masked
        return [*(("delete", row) for row in old.at(gone)), *(("insert", row) for row in new.at(come))]
    if old is not None:
        return [("delete", row) for row in old.visible()]
    assert new is not None
    return [("insert", row) for row in new.visible()]


def _start() -> list[dict[str, Any]]:
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    return [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | features},
        {
            "metaData": {
                "id": "8d2f4f0e-2a53-4b55-9a4e-222222222222",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(struct(*FIELDS)),
                "partitionColumns": ["p"],
                "configuration": {},
            }
        },
    ]


def _action(root: Path, file: File, data_change: bool) -> dict[str, Any]:
    size = (root / file.path).stat().st_size
    found: dict[str, Any] = {
        "path": file.path,
        "partitionValues": {"p": file.part},
        "size": size,
        "dataChange": data_change,
    }
    return found | ({"deletionVector": inline_vector(file.masked)} if file.masked else {})


def _stats(file: File) -> str:
    ids = [row[0] for row in file.rows if row[0] is not None]
    stats: dict[str, Any] = {"numRecords": len(file.rows), "nullCount": {"id": len(file.rows) - len(ids)}}
    if ids:
        stats |= {"minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}}
    return json.dumps(stats | {"tightBounds": not file.masked})
