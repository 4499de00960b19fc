"""Tripwires over the commits of a table: which commit, or which silence, trips which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final, assert_never

import msgspec

from explorer import formatting as fmt
from explorer.auditing.rules.clients import demands_more
from explorer.auditing.tripwires.records import (
    NewAuthor,
    NewEngine,
    PropertyChanged,
    ProtocolRaised,
    RetentionShortened,
    RowsRemoved,
    SchemaChanged,
    Silence,
    Tripwire,
)
from explorer.auditing.words import duration, named, span
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.versions.commit_times import moment
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.history import History

_MINUTE: Final = 60_000


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """A tripwire that was tripped.

    Attributes:
        tripwire: Its name.
        version: The commit; of a silence the last commit before it.
        time: When, ms since the epoch: of the commit, or when the silence had lasted long enough.
        author: Who committed, if the log says.
        text: What happened.
    """

    tripwire: str
    version: int
    time: int
    author: str | None
    text: str


def alarms(
    tripwires: Sequence[Tripwire], history: History, now: int, *, after: int = -1, since: int | None = None
) -> tuple[Alarm, ...]:
    """Find what trips them, by time.

    Args:
        tripwires: The tripwires.
        history: The table's history; all of it says who is new.
        now: The present, ms since the epoch.
        after: Only commits of later versions count.
        since: Only what happened at or after this time counts, ms since the epoch.

    Raises:
        CorruptTable: A retention has no readable value.
    """
    history_check = _HistoryCheck(history, now)
    raised = [alarm for each in tripwires for alarm in history_check.at(each)]
    counted = [
        alarm for alarm in raised if (since is None or alarm.time >= since) and history_check.counts(alarm, after)
    ]
    return tuple(sorted(counted, key=lambda alarm: (alarm.time, alarm.version)))


def tried(tripwire: Tripwire, raised: Sequence[Alarm], span_text: str) -> str:
    """Say how often a tripwire would have fired: ``would have fired twice in 90 days: v12, v31``."""
    versions = [alarm.version for alarm in raised if alarm.tripwire == tripwire.name]
    if not versions:
        return f"would not have fired in {span_text}"
    times = {1: "once", 2: "twice"}.get(len(versions), f"{len(versions):,} times")
    return f"would have fired {times} in {span_text}: {named([span(each, each) for each in versions])}"


class _HistoryCheck:
    """One table, and what each kind of tripwire makes of it."""

    def __init__(self, history: History, now: int) -> None:
        self._history, self._now = history, now
        self._commits = Commits(history.table())
        self._versions = self._commits.versions.tolist()
        self._times = [history.timestamp(version) or 0 for version in self._versions]
        self._authors: list[str | None] = self._commits.values("user_name")
        self._silent_at_end: set[tuple[str, int]] = set()

    def counts(self, alarm: Alarm, after: int) -> bool:
        """Return whether an alarm is of a commit after a version, or of a current silence."""
        return alarm.version > after or (alarm.tripwire, alarm.version) in self._silent_at_end

    def at(self, tripwire: Tripwire) -> Iterator[Alarm]:
        """Yield the alarms of one tripwire."""
        if isinstance(tripwire, Silence):
            yield from self._silences(tripwire)
            return
        for place, text in self._events(tripwire):
            time, author = self._times[place], self._authors[place]
            if tripwire.watches(moment(time), author):
                yield Alarm(tripwire=tripwire.name, version=self._versions[place], time=time, author=author, text=text)

    def _events(self, tripwire: Tripwire) -> Iterator[tuple[int, str]]:
        match tripwire:
            case RowsRemoved():
                yield from self._losses(tripwire)
            case SchemaChanged():
                changed = self._commits.flags("schema_changed").tolist()
                yield from ((place, "the schema changed") for place, is_changed in enumerate(changed) if is_changed)
            case ProtocolRaised():
                yield from self._raises()
            case RetentionShortened():
                yield from self._shortened()
            case PropertyChanged():
                yield from self._properties(tripwire.property)
            case NewAuthor():
                yield from self._new(self._authors, "author")
            case NewEngine():
                texts = self._commits.values("engine_info")
                yield from self._new([text and text.partition("/")[0] for text in texts], "engine")
            case Silence():
                return
            case _:
                assert_never(tripwire)

    def _losses(self, tripwire: RowsRemoved) -> Iterator[tuple[int, str]]:
        rows = self._commits.values("num_rows")
        for place, (before, after) in enumerate(pairwise(rows), 1):
            if before is None or after is None or self._versions[place] != self._versions[place - 1] + 1:
                continue
            if (lost := before - after) >= tripwire.least and lost > tripwire.share * before:
                yield place, f"{fmt.plural(lost, 'row')} removed, {fmt.percent(lost, before)} of them"

    def _raises(self) -> Iterator[tuple[int, str]]:
        for place in self._commits.flags("protocol_changed").nonzero()[0].tolist():
            version = self._versions[place]
            before, after = self._history.protocol_at(version - 1), self._history.protocol_at(version)
            if before is not None and after is not None and demands_more(before, after):
                yield place, f"the protocol is reader {after.min_reader_version}, writer {after.min_writer_version} now"

    def _settings(self) -> Iterator[tuple[int, dict[str, str], dict[str, str]]]:
        """Yield each commit that changed properties: its place, and the properties before and after it."""
        for place in self._commits.flags("metadata_changed").nonzero()[0].tolist():
            version = self._versions[place]
            before, after = self._history.metadata_at(version - 1), self._history.metadata_at(version)
            if before is not None and after is not None and before.configuration != after.configuration:
                yield place, before.configuration, after.configuration

    def _shortened(self) -> Iterator[tuple[int, str]]:
        for place, before, after in self._settings():
            for row in (FILE_RETENTION, LOG_RETENTION):
                then, now = span_milliseconds(row.of(before)), span_milliseconds(row.of(after))
                if now < then:
                    yield place, f"{row} fell from {duration(then)} to {duration(now)}"

    def _properties(self, pattern: str) -> Iterator[tuple[int, str]]:
        for place, before, after in self._settings():
            keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
            changed = [key for key in keys if fnmatchcase(key.lower(), pattern.lower())]
            if changed:
                yield place, f"{named(changed)} changed"

    def _new(self, names: Sequence[str | None], kind: str) -> Iterator[tuple[int, str]]:
        seen = set[str]()
        for place, name in enumerate(names):
            if name and name not in seen:
                if seen:
                    yield place, f"the {kind} {fmt.shorten(fmt.plain(name, 200), 40)} is new"
                seen.add(name)

    def _silences(self, tripwire: Silence) -> Iterator[Alarm]:
        places = [
            place for place, author in enumerate(self._authors) if tripwire.author is None or author == tripwire.author
        ]
        longest = tripwire.milliseconds()
        ends = [*(self._times[place] for place in places), self._now][1:]
        for place, end in zip(places, ends, strict=True):
            lasted = end - self._times[place]
            if lasted > longest:
                version = self._versions[place]
                if place == places[-1]:
                    self._silent_at_end.add((tripwire.name, version))
                yield Alarm(
                    tripwire=tripwire.name,
                    version=version,
                    time=self._times[place] + longest,
                    author=tripwire.author,
                    text=f"no commit for {duration(lasted // _MINUTE * _MINUTE)} after it",
                )
