"""One table: what happened since it was seen last, as notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

import msgspec

from explorer import formatting as fmt
from explorer.auditing.tripwires.alarms import Alarm, alarms
from explorer.auditing.tripwires.records import Silence, Tripwire
from explorer.core.compatibility.access import Access, Requirements, verdict_of
from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.errors import ExplorerError
from explorer.core.versions.commit_times import moment
from explorer.core.versions.history import History
from explorer.notices.book import NoticeChanges
from explorer.notices.notice import Notice, NoticeKind, Severity, iso


class SeenTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was seen of a table.

    Attributes:
        name: Its served name.
        version: The newest version whose commits were checked.
        verdicts: What each client in use could do, by client and operation.
        verdicts_at: The version of which that is; None if it is not known.
    """

    name: str
    version: int
    verdicts: dict[str, Access] = {}
    verdicts_at: int | None = None


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """A table that is watched.

    Attributes:
        name: Its served name.
        location: Where it is.
        home: The address of the pages of a server; empty if it is not known.
    """

    name: str
    location: str
    home: str = ""

    def address(self, version: int | None = None) -> str:
        """Return the address of its page."""
        values: dict[str, str] = {"t": self.name} | ({} if version is None else {"v": str(version)})
        return f"{self.home}?{urlencode(values, safe='/')}" if self.home else ""

    def notice(
        self,
        kind: NoticeKind,
        key: str,
        severity: Severity,
        title: str,
        text: str,
        when: datetime,
        version: int | None = None,
    ) -> Notice:
        """Return a notice about it; the key is completed with the place."""
        return Notice(
            key=f"{kind}:{key}:{self.location}",
            kind=kind,
            severity=severity,
            title=f"{self.name}: {title}",
            text=text,
            table=self.location,
            name=self.name,
            version=version,
            address=self.address(version),
            when=iso(when),
        )


@dataclass(slots=True)
class TableNews:
    """What is to be told of a table.

    Attributes:
        posts: Notices to post.
        ends: Notices that say that what was posted under their key is over.
        ended_silences: The beginnings of keys of silences; those that are not among the posts are over.
        seen: What was seen; None if it could not be read.
    """

    posts: list[Notice] = field(default_factory=list)
    ends: list[Notice] = field(default_factory=list)
    silences: dict[str, Notice] = field(default_factory=dict)
    seen: SeenTable | None = None

    def write(self, changes: NoticeChanges, place: WatchedPlace) -> int:
        """Write them together with what was seen; return how many are new."""
        for prefix, over in self.silences.items():
            posted = {notice.key for notice in self.posts}
            for key in changes.open_keys(prefix):
                if key.endswith(f":{place.location}") and key not in posted:
                    changes.resolve(msgspec.structs.replace(over, key=key))
        for notice in self.ends:
            # A table that was always readable has nothing that is over.
            if notice.kind == "verdict" or changes.is_open(notice.key):
                changes.resolve(notice)
        count = sum(changes.post(notice) for notice in self.posts)
        if self.seen is not None:
            changes.watch(place.location, self.seen)
        return count


def unreadable(place: WatchedPlace, error: ExplorerError, now: datetime) -> Notice:
    """Return the notice that a table cannot be read."""
    return place.notice("table", "unreadable", "error", "cannot be read", error.message, now, error.version)


def vanished(place: WatchedPlace, now: datetime) -> Notice:
    """Return the notice that a table is not there any more."""
    text = "It was watched before, and there is no Delta table now. Find out who moved or deleted it."
    return place.notice("table", "unreadable", "error", "is gone", text, now)


def readable(place: WatchedPlace, now: datetime) -> Notice:
    """Return the notice that it can be read again."""
    return place.notice("table", "unreadable", "error", "can be read again", "", now)


def went_back(place: WatchedPlace, before: int, latest: int, now: datetime) -> Notice:
    """Return the notice that a log has lost commits."""
    return place.notice(
        "table",
        f"went back:{before}:{latest}",
        "error",
        f"its log ends at v{latest}, and v{before} was seen before",
        "Commits were taken away, or it is another table in the same place. Find out which. From now on, commits after "
        f"v{latest} are new.",
        now,
        latest,
    )


def tripped(
    place: WatchedPlace, wires: Sequence[Tripwire], history: History, now: int, after: int, news: TableNews
) -> None:
    """Add what trips the tripwires.

    Args:
        place: The table.
        wires: The tripwires.
        history: Its history.
        now: ms since the epoch.
        after: The newest version that was checked before.
        news: Takes the notices.
    """
    by_name = {wire.name: wire for wire in wires}
    for wire in wires:
        if isinstance(wire, Silence):
            news.silences[f"tripwire:{wire.name}:"] = place.notice(
                "tripwire", wire.name, wire.severity, f"{wire.name}: there is a commit again", "", moment(now)
            )
    for alarm in alarms(wires, history, now, after=after):
        wire = by_name[alarm.tripwire]
        # Of a silence that ended meanwhile, nothing is open.
        news.posts.append(_alarm(place, wire, alarm))


def _alarm(place: WatchedPlace, wire: Tripwire, alarm: Alarm) -> Notice:
    by = f" by {fmt.plain(alarm.author, 200)}" if alarm.author else ""
    silent = isinstance(wire, Silence)
    what = f"Since v{alarm.version}{by}: {alarm.text}." if silent else f"v{alarm.version}{by}: {alarm.text}."
    return place.notice(
        "tripwire",
        f"{wire.name}:{alarm.version}",
        wire.severity,
        f"{wire.name}, v{alarm.version}",
        what,
        moment(alarm.time),
        alarm.version,
    )


def judged_names(clients: Sequence[MyClient]) -> set[str]:
    """Return the keys of `judged`."""
    known = (client for client in clients if client.version_from is not None)
    return {f"{client.called}|{operation}" for client in known for operation in client.operations}


def judged(clients: Sequence[MyClient], facts: ClientFacts, requirements: Requirements) -> dict[str, Access]:
    """Return what each client in use can do with a table, by client and operation; without those of which nothing is
    known."""
    verdicts = dict[str, Access]()
    for client in clients:
        if client.version_from is None:
            continue
        verdict = verdict_of(requirements, facts, client.client, client.version_from)
        for operation in client.operations:
            verdicts[f"{client.called}|{operation}"] = verdict.read if operation == "read" else verdict.write
    return verdicts


def changed_verdicts(
    place: WatchedPlace,
    before: Mapping[str, Access],
    after: Mapping[str, Access],
    versions: tuple[int, int],
    news: TableNews,
    now: datetime,
) -> None:
    """Add what clients lost or gained between two versions.

    Args:
        place: The table.
        before, after: As of `judged`; a client that is in one of them alone is not compared.
        versions: Which versions these are of.
        news: Takes the notices.
        now: The time.
    """
    for name in sorted(before.keys() & after.keys()):
        client, _, operation = name.rpartition("|")
        was, is_ = before[name], after[name]
        if was == "yes" and is_ in ("no", "wrong"):
            news.posts.append(_lost(place, client, operation, is_, versions, now))
        elif was in ("no", "wrong") and is_ == "yes":
            news.ends.append(
                place.notice(
                    "verdict",
                    name,
                    "error",
                    f"{client} can {operation} it again",
                    f"At v{versions[0]} it could not, at v{versions[1]} it can.",
                    now,
                    versions[1],
                )
            )


def _lost(
    place: WatchedPlace, client: str, operation: str, access: Access, versions: tuple[int, int], now: datetime
) -> Notice:
    ing = {"read": "reading", "write": "writing"}[operation]
    wrong = access == "wrong"
    title = f"{client} gets wrong results when {ing} it" if wrong else f"{client} can no longer {operation} it"
    return place.notice(
        "verdict",
        f"{client}|{operation}",
        "error",
        title,
        f"At v{versions[0]} it could, at v{versions[1]} it {'answers wrongly, without an error' if wrong else 'refuses'}. "
        f"To see why: delta-explorer compatibility {place.location}",
        now,
        versions[1],
    )
