"""Where the changes of a range of versions come from, as one strip: recorded, from files, nothing, or a hole."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import pyarrow as pa

from explorer.core.versions.change_feed.feed import ChangeSources, ChangeVersion

_WORDS: Final = {
    "recorded": "recorded by the change feed",
    "files": "from the files that were added and removed",
    "inferred": "not recorded; inferred from the files that were added and removed",
    "none": "no row changed",
    "off": "not recorded: the change feed was off",
    "schema": "its rows do not match the schema of the range",
    "gone": "its commit is not in the log",
    "unresolved": "a removed file\u2019s partition values are not known",
    "vacuumed": "a file with its rows was deleted",
}
HOLES: Final = frozenset({"off", "schema", "gone", "unresolved", "vacuumed"})


@dataclass(frozen=True, slots=True)
class ChangeSpan:
    """Consecutive versions whose changes come from one kind of source, and their share of the strip."""

    from_version: int
    to_version: int
    kind: str
    words: str
    share: float

    @property
    def is_hole(self) -> bool:
        """Whether their changes are not known."""
        return self.kind in HOLES

    @property
    def versions(self) -> str:
        """``v3`` or ``v3\u2013v7``."""
        same = self.from_version == self.to_version
        return f"v{self.from_version}" if same else f"v{self.from_version}\u2013v{self.to_version}"


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """How many rows a version inserted, deleted and updated, and how many it only wrote to another file.

    ``updated`` is None where updates are among the rows deleted and inserted: nothing tells which belong together.
    """

    version: int
    inserted: int
    deleted: int
    updated: int | None
    rewritten: int = 0


def change_spans(sources: ChangeSources) -> tuple[ChangeSpan, ...]:
    """Return the spans of a range, ascending, without a gap.

    Args:
        sources: Where the changes are, with the versions that were skipped.
    """
    kinds = dict.fromkeys(range(sources.from_version, sources.to_version + 1), "none")
    kinds |= {source.version: _kind(source) for source in sources.versions}
    for gap in sources.skipped:
        last = min(gap.to_version, sources.to_version)
        kinds |= dict.fromkeys(range(max(gap.from_version, sources.from_version), last + 1), gap.kind)
    total = len(kinds)
    spans = []
    for kind, group in groupby(sorted(kinds), key=kinds.__getitem__):
        versions = list(group)
        spans.append(ChangeSpan(versions[0], versions[-1], kind, _WORDS[kind], len(versions) / total))
    return tuple(spans)


def unpaired_versions(versions: Iterable[ChangeVersion], keys: str) -> frozenset[int]:
    """Return the inferred versions in which nothing pairs the rows before and after an update: no row id, no key."""
    if keys:
        return frozenset()
    return frozenset(
        source.version for source in versions if _kind(source) == "inferred" and source.row_id_column is None
    )


def change_counts(
    counts: pa.Table, rewritten: pa.Table | None = None, unpaired: Container[int] = ()
) -> tuple[VersionCounts, ...]:
    """Return the counts of a preview by version: an update counts once, where it can be told.

    Args:
        counts, rewritten: Of the preview.
        unpaired: Versions in which nothing pairs updates.
    """
    by_version: dict[int, dict[str, int]] = {}
    for record in counts.to_pylist():
        by_version.setdefault(record["version"], {})[record["change_type"]] = record["rows"]
    for record in [] if rewritten is None else rewritten.to_pylist():
        by_version.setdefault(record["version"], {})["rewritten"] = record["rows"]
    return tuple(_counts(version, kinds, version in unpaired) for version, kinds in sorted(by_version.items()))


def _kind(source: ChangeVersion) -> str:
    if source.source == "none":
        return "none"
    if source.source == "cdc":
        return "recorded"
    return "files" if source.recorded else "inferred"


def _counts(version: int, kinds: Mapping[str, int], unpaired: bool) -> VersionCounts:
    inserted, deleted = kinds.get("insert", 0), kinds.get("delete", 0)
    updated = None if unpaired and inserted and deleted else kinds.get("update_postimage", 0)
    return VersionCounts(version, inserted, deleted, updated, kinds.get("rewritten", 0))
