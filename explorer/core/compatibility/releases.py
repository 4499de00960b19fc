"""Names and versions of clients as users and commits write them -> those that facts are known of.

Protocol section: Commit Provenance Information. Invariants: a release is that of the newest known version at or before
it; one from before all known versions, or whose order among them is not known (a number where the sources give dates),
is refused, never guessed; an early build of a release is not the release. ``engineInfo`` is free text, so an unknown
form stays as it is, and nothing is known of such a writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, Protocol

import msgspec

from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import CommitInfo

_ALIASES: Final = {
    "spark": "delta-spark",
    "delta lake": "delta-spark",
    "delta-lake": "delta-spark",
    "deltalake": "delta-rs (python deltalake)",
    "delta-rs": "delta-rs (python deltalake)",
    "databricks": "Databricks Runtime",
    "dbr": "Databricks Runtime",
    "duckdb": "DuckDB delta extension",
    "polars": "Polars scan_delta",
    "clickhouse": "ClickHouse DeltaLake",
    "bigquery": "BigQuery BigLake",
    "redshift": "Redshift Spectrum",
    "kernel-rs": "delta-kernel-rs",
    "kernel-java": "delta-kernel-java",
}
_NUMBER: Final = re.compile(r"v?(\d+(?:\.\d+)*)(?!\d|-\d)")
_KNOWN_NUMBER: Final = re.compile(r"v?(\d+(?:\.\d+)*)(?: LTS)?")
_EARLY: Final = re.compile(r"snapshot|alpha|beta|preview|dev|rc", re.IGNORECASE)
_DATE: Final = re.compile(r"(before )?(\d{4}-\d{2}(?:-\d{2})?)(?!\d)")


def client_named(name: str, facts: ClientFacts, field: str = "name") -> str:
    """Return the client that a name means.

    Raises:
        RequestError: None, or none that is known; ``nearest`` are the names that come close.
    """
    folded = {known.casefold(): known for known in facts.versions}
    wanted = " ".join(name.casefold().split())
    match = folded.get(wanted) or folded.get(_ALIASES.get(wanted, "").casefold())
    if match is not None:
        return match
    near = get_close_matches(wanted, [*folded, *_ALIASES], 3, 0.5)
    nearest = list(dict.fromkeys(folded.get(each) or _ALIASES[each] for each in near))
    nearest = nearest or [known for key, known in folded.items() if wanted and wanted in key]
    hint = f" Names that come close: {', '.join(nearest)}." if nearest else f" Known: {', '.join(facts.versions)}."
    raise RequestError(
        f"No facts are known of a client {name!r}.{hint}", field=field, found=name, nearest=nearest or None
    )


def known_release(client: str, version: str | None, facts: ClientFacts, field: str = "version") -> str:
    """Return the known version of a client whose facts hold for a release.

    Args:
        version: A version as people write it; None where only one is known.

    Raises:
        RequestError: Nothing is known of such a release; ``nearest`` are versions that are known.
    """
    known = facts.versions[client]
    wanted = "" if version is None else version.strip()
    if not wanted and len(known) == 1:
        return known[0]
    exact = next((each for each in known if each.casefold() == wanted.casefold()), None)
    match = exact or _by_date(wanted, known) or _by_number(wanted, known)
    if match is not None:
        return match
    nearest = get_close_matches(wanted, known, 3, 0.1) or known[:3]
    given = f"the version {version!r}" if wanted else "no version"
    raise RequestError(
        f"The clients' file gives {given} for {client}, but no facts are known about it. Known versions: "
        f"{', '.join(known)}. Give one of these, or a later release of one of them.",
        field=field,
        found=version,
        nearest=nearest,
    )


def _by_number(wanted: str, known: list[str]) -> str | None:
    requested = None if _DATE.match(wanted) else _NUMBER.match(wanted)
    if requested is None:
        return None
    numbered = [(_parts(match[1]), each) for each in known if (match := _KNOWN_NUMBER.fullmatch(each)) is not None]
    number, is_early = _parts(requested[1]), _EARLY.search(wanted) is not None
    reached = [(known, each) for known, each in numbered if known < number or (known == number and not is_early)]
    return max(reached)[1] if reached else None


def _by_date(wanted: str, known: list[str]) -> str | None:
    requested = _DATE.match(wanted)
    if requested is None:
        return None
    dated = [(match[2], not match[1], each) for each in known if (match := _DATE.match(each)) is not None]
    reached = [(date, each) for date, is_start, each in dated if is_start and date <= requested[2] and not requested[1]]
    if reached:
        return max(reached)[1]
    return next((each for date, is_start, each in dated if not is_start and requested[2] < date), None)


def _parts(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


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
