"""The clients that wrote a table, by the ``engineInfo`` of their commits.

Protocol section: Commit Provenance Information. Invariants: ``engineInfo`` is what a writer likes to say, so a form
that is not known stays as it is, and nothing is known of such a writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Protocol

import msgspec

from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.compatibility.releases import known_release
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import CommitInfo

__all__ = ["OWN_ENGINE", "WriterSeen", "WrittenCommit", "engine_named", "writers_seen"]

OWN_ENGINE: Final = "Delta-Table-Explorer"
"""What this program calls itself in ``engineInfo``; its version follows after a slash."""
# Each with a group for the version; the more exact ones come first, as Spark names Delta Lake and itself.
_FORMS: Final = (
    (re.compile(r"\bDelta-Lake/(\S+)"), "delta-spark"),
    (re.compile(r"\bDatabricks-Runtime/(\S+)"), "Databricks Runtime"),
    (re.compile(r"\bdelta-rs:py-(\S+)"), "delta-rs (python deltalake)"),
    (re.compile(r"\bflink-delta-connector/(\S+)", re.IGNORECASE), "Flink (legacy delta-flink on Standalone)"),
    (re.compile(r"\btrino\S*?[ /-](\d\S*)", re.IGNORECASE), "Trino"),
    (re.compile(r"\bKernel-(\S+?)/"), "delta-kernel-java"),
)


class WrittenCommit(Protocol):
    """A commit as a history has it."""

    @property
    def version(self) -> int:
        """Its version."""

    @property
    def timestamp(self) -> int:
        """Its time, ms since the epoch."""

    @property
    def info(self) -> CommitInfo | None:
        """What it says of itself."""


class WriterSeen(msgspec.Struct, frozen=True, rename="camel"):
    """A client that wrote commits.

    Attributes:
        engine_info: What it calls itself.
        client: The client that facts are known of; None if it says another name.
        version: Its version as it says it; empty where it does not.
        version_from: The known version whose facts hold for it; None if nothing is known of that release.
        commits: How many commits it wrote.
        first_version, last_version: The first and the last of these.
        last_time: The time of the last, ms since the epoch.
    """

    engine_info: str
    client: str | None
    version: str
    version_from: str | None
    commits: int
    first_version: int
    last_version: int
    last_time: int


def writers_seen(commits: Iterable[WrittenCommit], facts: ClientFacts) -> tuple[WriterSeen, ...]:
    """Find the clients that wrote some commits, the one that wrote last first."""
    by_engine: dict[str, list[WrittenCommit]] = {}
    for commit in commits:
        if commit.info is not None and commit.info.engine_info:
            by_engine.setdefault(commit.info.engine_info, []).append(commit)
    seen = [_writer(engine, written, facts) for engine, written in by_engine.items()]
    return tuple(sorted(seen, key=lambda writer: -writer.last_version))


def engine_named(engine_info: str) -> tuple[str | None, str]:
    """Return the client that a commit names, and its version as it says it."""
    for form, client in _FORMS:
        match = form.search(engine_info)
        if match is not None:
            return client, match[1]
    return None, ""


def _writer(engine: str, written: list[WrittenCommit], facts: ClientFacts) -> WriterSeen:
    client, version = engine_named(engine)
    last = written[-1]
    return WriterSeen(
        engine, client, version, _release(client, version, facts), len(written), written[0].version, last.version,
        last.timestamp,
    )  # fmt: skip


def _release(client: str | None, version: str, facts: ClientFacts) -> str | None:
    if client not in facts.versions:
        return None
    try:
        return known_release(client, version, facts)
    except RequestError:
        return None  # nothing is known of that release, which is what None says
