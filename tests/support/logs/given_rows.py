"""An engine whose answers about rows are given, for tests of what the core makes of them: no data file is read."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

import explorer
from explorer.core.protocol.actions import AddCDCFile
from explorer.core.transaction.context import Context
from explorer.core.transaction.new_files.file_facts import Arrangement, Numbering, RowIndexes, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import GuardResult, RowCounts, Written
from explorer.core.transaction.row_engine import Incoming, MatchedChanges
from tests.support.logs.small_logs import add

Asked = tuple[str, Mapping[str, Any]]


class GivenRows:
    """An engine that finds what it is told, and names files that it does not write.

    Attributes:
        matched: Row indexes by path, for every condition.
        counts: Of an update or a merge.
        rows: Of a source.
        asked: What it was asked for, in order.
    """

    def __init__(
        self,
        matched: Mapping[str, Sequence[int]] | None = None,
        *,
        counts: RowCounts | None = None,
        rows: int = 0,
        partitions: Collection[tuple[str | None, ...]] = (),
        given: Sequence[str] = ("id",),
        masking: Collection[str] = (),
        dropped: Collection[str] = (),
        alike: bool = True,
        guards: tuple[GuardResult, ...] = (),
    ) -> None:
        self.matched = {path: np.array(places, np.uint64) for path, places in (matched or {}).items()}
        self.counts, self.rows, self._partitions = counts or RowCounts(), rows, frozenset(partitions)
        self._given, self._masking, self._dropped = tuple(given), frozenset(masking), frozenset(dropped)
        self._alike, self._guards = alike, guards
        self.asked: list[Asked] = []

    def context(self) -> Context:
        """The world with this engine, at a fixed time."""
        numbers = itertools.count(1)
        return Context(
            clock=lambda: 1_700_000_000_000,
            new_uuid=lambda: uuid.UUID(int=next(numbers)),
            sleep=lambda _: None,
            chance=lambda: 0.0,
            engine_info="house/1",
            rows=self,  # type: ignore[arg-type]  # it has what changes of rows ask for, and checks nothing
        )

    def calls(self, name: str) -> list[Mapping[str, Any]]:
        """With what it was asked for something, each time."""
        return [more for asked, more in self.asked if asked == name]

    def reads_like_core(self, _snapshot: explorer.Snapshot) -> bool:
        return self._alike

    def vet(self, _schema: object, expression: str) -> None:
        self._note("vet", expression=expression)

    def matching_rows(
        self, _log: object, snapshot: explorer.Snapshot, where: str, _doubted: Collection[str] = ()
    ) -> Mapping[str, RowIndexes]:
        self._note("matching_rows", version=snapshot.version, where=where)
        return self.matched

    def files_masking(self, _log: object, _snapshot: explorer.Snapshot, where: str) -> Collection[str]:
        self._note("files_masking", where=where)
        return self._masking

    def files_with_dropped_columns(self, *_: object) -> Collection[str]:
        self._note("files_with_dropped_columns")
        return self._dropped

    def find_changes(
        self,
        _log: object,
        snapshot: explorer.Snapshot,
        _intent: object,
        source: object,
        _doubted: Collection[str] = (),
    ) -> MatchedChanges:
        self._note("find_changes", version=snapshot.version, source=source)
        return MatchedChanges(self.matched, self.counts, self._guards, "found", self._given)

    def incoming_rows(
        self, snapshot: explorer.Snapshot, source: object, *, rules: Sequence[Any] = (), partitions: bool = False
    ) -> Incoming:
        texts = [rule.expression for rule in rules]
        self._note("incoming_rows", version=snapshot.version, source=source, rules=texts)
        return Incoming(self.rows, self._given, self._guards, source, self._partitions if partitions else None)

    def new_fields(self, *_: object) -> tuple[Any, ...]:
        return ()

    def rewrite(
        self, _log: object, _snapshot: object, touched: Sequence[Touched], where: str, _: object, *, recorded: bool
    ) -> Written:
        self._note("rewrite", files=[file.add.path for file in touched], where=where, recorded=recorded)
        stay = sum(file.rows_left for file in touched)
        return Written((add("kept", stay, size=11),) if stay else (), change_files("gone") if recorded else (), stay)

    def write_changes(self, _log: object, _snapshot: object, found: MatchedChanges, *_: object, **more: Any) -> Written:
        numbered: Sequence[Numbering] = more.pop("numbered")
        self._note("write_changes", found=found.source, numbered=[one.column for one in numbered], **more)
        marks = {one.column: one.last(self.counts.inserted) for one in numbered}
        changes = change_files("changed") if more["recorded"] else ()
        return Written((add("new", self.counts.new, size=13),), changes, self.counts.new, marks)

    def write_rows(
        self, _store: object, incoming: Incoming, _layout: FileLayout, numbered: Sequence[Numbering]
    ) -> Written:
        self._note("write_rows", source=incoming.source, numbered=[one.column for one in numbered])
        marks = {one.column: one.last(self.rows) for one in numbered}
        return Written((add("new", self.rows, size=13),), (), self.rows, marks)

    def record_inserts(self, _log: object, _snapshot: object, written: Written, _: object) -> tuple[AddCDCFile, ...]:
        self._note("record_inserts", files=[each.path for each in written.adds])
        return change_files("inserted")

    def compact(
        self, log: explorer.Table, snapshot: explorer.Snapshot, arrangement: Arrangement, layout: FileLayout
    ) -> Written:
        groups, order = dict(arrangement.groups), list(arrangement.order)
        self._note("compact", version=snapshot.version, groups=groups, order=order, curve=arrangement.curve)
        assert layout == FileLayout.of(snapshot)
        assert log.snapshot(snapshot.version).num_files == snapshot.num_files
        return Written(tuple(add(f"joined{group}", 20, size=17) for group in sorted(set(groups.values()))), rows=20)

    def _note(self, name: str, **more: Any) -> None:
        self.asked.append((name, more))


def change_files(name: str) -> tuple[AddCDCFile, ...]:
    """The action of one change file."""
    return (AddCDCFile(path=f"_change_data/{name}", partition_values={}, size=7),)
