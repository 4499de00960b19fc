"""Names and versions of clients as users and commits write them -> those that facts are known of.

Invariants: a release is that of the newest known version at or before it; one from before all known versions, or whose
order among them is not known (a number where the sources give dates), is refused, never guessed. An early build of a
release is not the release.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

from explorer.core.compatibility.client_facts import ClientFacts
from explorer.core.errors import RequestError

__all__ = ["client_named", "known_release"]

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
        f"The clients' file gives {given} for {client}, of which no facts are known. Versions that are known: "
        f"{', '.join(known)}. Give one of these, or a release that comes after one of them.",
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
