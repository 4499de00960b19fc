"""One table: what happened since it was seen last, as notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

from explorer import formatting as fmt
from explorer.auditing.tripwires.alarms import Alarm, alarms
from explorer.auditing.tripwires.records import Silence, Tripwire
from explorer.core.compatibility.access import Access, Requirements, verdict_of
from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.errors import ExplorerError
from explorer.core.protocol.times import milliseconds
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
        values: dict[str, str] = {"t": _whole(self.name)} | ({} if version is None else {"v": str(version)})
        return f"{self.home}?{urlencode(values, safe='/')}" if self.home else ""

    def notice(
        self,
        kind: NoticeKind,
        key: str,
        title: str,
        text: str = "",
        *,
        when: datetime,
        severity: Severity = "error",
        version: int | None = None,
    ) -> Notice:
        """Return a notice about it; the key is completed with the place."""
        return Notice(
            key=_whole(f"{kind}:{key}:{self.location}"),
            kind=kind,
            severity=severity,
            title=f"{self.name}: {title}",
            text=text,
            table=_whole(self.location),
            name=_whole(self.name),
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
        silences: By the beginning of their keys, what is to be said of silences that are not among the posts.
        seen: What was seen; None if it could not be read.
    """

    posts: list[Notice] = field(default_factory=list)
    ends: list[Notice] = field(default_factory=list)
    silences: dict[str, Notice] = field(default_factory=dict)
    seen: SeenTable | None = None

    def add(self, other: TableNews) -> None:
        """Add what else is to be told."""
        self.posts += other.posts
        self.ends += other.ends
        self.silences |= other.silences

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
            changes.watch(_whole(place.location), self.seen)
        return count


def _whole(text: str) -> str:
    """Return a name without halves of surrogate pairs, as of a file whose name is not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def unreadable(place: WatchedPlace, error: ExplorerError, now: datetime) -> Notice:
    """Return the notice that a table cannot be read."""
    return place.notice("table", "unreadable", "cannot be read", error.message, when=now, version=error.version)


def vanished(place: WatchedPlace, now: datetime) -> Notice:
    """Return the notice that a table is not there any more."""
    text = "There is no Delta table here anymore. Find out who moved or deleted it."
    return place.notice("table", "unreadable", "is gone", text, when=now)


def readable(place: WatchedPlace, now: datetime) -> Notice:
    """Return the notice that it can be read again."""
    return place.notice("table", "unreadable", "can be read again", when=now)


def went_back(place: WatchedPlace, before: int, latest: int, now: datetime) -> Notice:
    """Return the notice that a log has lost commits."""
    return place.notice(
        "table",
        f"went back:{before}:{latest}",
        f"its log ends at v{latest}, but v{before} was there before",
        "Commits were removed, or this is another table in the same place. Find out which. From now on, commits after "
        f"v{latest} count as new.",
        when=now,
        version=latest,
    )


def tripped(place: WatchedPlace, wires: Sequence[Tripwire], history: History, after: int, now: datetime) -> TableNews:
    """Return what trips the tripwires.

    Args:
        place: The table.
        wires: The tripwires.
        history: Its history.
        after: The newest version that was checked before.
        now: The time.
    """
    news, by_name = TableNews(), {wire.name: wire for wire in wires}
    for wire in wires:
        if isinstance(wire, Silence):
            title = f"{wire.name}: commits have resumed"
            over = place.notice("tripwire", wire.name, title, when=now, severity=wire.severity)
            news.silences[f"tripwire:{wire.name}:"] = over
    for alarm in alarms(wires, history, milliseconds(now), after=after):
        news.posts.append(_alarm(place, by_name[alarm.tripwire], alarm))
    return news


def _alarm(place: WatchedPlace, wire: Tripwire, alarm: Alarm) -> Notice:
    by = f" by {fmt.plain(alarm.author, 200)}" if alarm.author else ""
    since = "Since " if isinstance(wire, Silence) else ""
    return place.notice(
        "tripwire",
        f"{wire.name}:{alarm.version}",
        f"{wire.name}, v{alarm.version}",
        f"{since}v{alarm.version}{by}: {alarm.text}.",
        when=moment(alarm.time),
        severity=wire.severity,
        version=alarm.version,
    )


def judged_names(clients: Sequence[MyClient]) -> set[str]:
    """Return the keys of `judged`."""
    known = (client for client in clients if client.version_from is not None)
    return {f"{client.called}|{operation}" for client in known for operation in client.operations}


def judged(clients: Sequence[MyClient], facts: ClientFacts, requirements: Requirements) -> dict[str, Access]:
    """Return what each client in use can do with a table, by client and operation.

    Clients of which nothing is known are left out.
    """
    verdicts = dict[str, Access]()
    for client in clients:
        if client.version_from is None:
            continue
        verdict = verdict_of(requirements, facts, client.client, client.version_from)
        for operation in client.operations:
            verdicts[f"{client.called}|{operation}"] = verdict.read if operation == "read" else verdict.write
    return verdicts


def changed_verdicts(
    place: WatchedPlace, before: Mapping[str, Access], after: Mapping[str, Access], versions: tuple[int, int]
) -> TableNews:
    """Return what clients lost or gained between two versions.

    Args:
        place: The table.
        before, after: As of `judged`; a client that is in one of them alone is not compared.
        versions: Which versions these are of.
    """
    news, now = TableNews(), datetime.now(UTC)
    for name in sorted(before.keys() & after.keys()):
        client, _, operation = name.rpartition("|")
        was, is_ = before[name], after[name]
        if was == "yes" and is_ in ("no", "wrong"):
            title, text = _lost(client, operation, is_, versions)
            news.posts.append(
                place.notice(
                    "verdict",
                    name,
                    title,
                    f"{text} To see why: delta-explorer compatibility {place.location}",
                    when=now,
                    version=versions[1],
                )
            )
        elif was in ("no", "wrong") and is_ == "yes":
            title, text = (
                f"{client} can {operation} it again",
                f"At v{versions[0]} it could not; at v{versions[1]} it can.",
            )
            news.ends.append(place.notice("verdict", name, title, text, when=now, version=versions[1]))
    return news


def _lost(client: str, operation: str, access: Access, versions: tuple[int, int]) -> tuple[str, str]:
    before, after = f"At v{versions[0]} it could", f"at v{versions[1]} it"
    if access == "wrong":
        doing = {"read": "reading", "write": "writing"}[operation]
        return (
            f"{client} gets wrong results when {doing} it",
            f"{before}; {after} returns wrong results without an error.",
        )
    return f"{client} can no longer {operation} it", f"{before}; {after} refuses."
