"""Writing a log compaction file: the reconciled actions of a range of commits.

Protocol section: Log Compaction Files. Invariants: actions are the same as in their commits, in the same order;
removes and removed domains stay, however old (COMPACT-005, D-31): they may still cancel something older; provenance
and change files are left out (COMPACT-002); a range holds only published commits (COMPACT-004).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from explorer.core.errors import RequestError, UnsupportedFeature, VersionNotFound
from explorer.core.log.action_lines import action_lines
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import LogFileKind, LogPath, compaction_name
from explorer.core.log.log_segment import LogListing
from explorer.core.log.replay import Reconciliation, read_commit_files
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore

__all__ = ["compacted", "write_compaction"]


_LINE: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def write_compaction(store: LogStore, listing: LogListing, first: int, last: int) -> str | None:
    """Write the compaction of the commits from one version to another, both included.

    Returns:
        Its key, or None if one of that range already exists.

    Raises:
        RequestError: The range has fewer than two versions.
        VersionNotFound: A commit of the range is missing.
        UnsupportedFeature: A catalog manages the table and a commit of the range is not published.
        TableError: A commit is broken.
    """
    path = compaction_name(first, last)
    data = compacted(store, _commits(listing, first, last))
    try:
        store.put_if_absent(path, data)
    except FileExistsError:
        return None
    return path


def compacted(store: LogStore, commits: list[LogPath]) -> bytes:
    """Reconcile commits, ascending, to the lines of a compaction.

    Raises:
        TableError: A commit is broken or vanished.
    """
    newest, small, read = Reconciliation(), {}, []
    for path, data in read_commit_files(store, commits):
        commit = decode_commit(data, path.version, path.path)
        newest.apply(commit)
        small.update(_small_actions(commit))
        read.append((commit, data))
    lines = [line for commit, data in read for line in _kept(commit, data, newest, small)]
    return b"".join(b'{"%s":%s}\n' % line for line in lines)


def _commits(listing: LogListing, first: int, last: int) -> list[LogPath]:
    if not 0 <= first < last:
        raise RequestError(f"A compaction goes from a version to a later one; {first} to {last} does not.")
    for version in range(first, last + 1):
        if version not in listing.commits:
            raise VersionNotFound(
                f"The commit of version {version} is not in the log, so versions {first} to {last} cannot be "
                f"compacted. The log has versions {min(listing.commits, default=0)} to {listing.latest}.",
                version=version,
                earliest=listing.first_recorded(),
                latest=listing.latest,
                nearest=listing.first_recorded() if version < listing.first_recorded() else listing.latest,
            )
    commits = [listing.commits[version] for version in range(first, last + 1)]
    staged = [path for path in commits if path.kind is LogFileKind.STAGED_COMMIT]
    if staged:
        raise UnsupportedFeature(
            f"Version {staged[0].version} is not published yet; only published versions may be compacted.",
            features=["catalogManaged"],
            operation="compact the log",
            version=staged[0].version,
        )
    return commits


def _small_actions(commit: Commit) -> dict[tuple[str, str], tuple[int, int]]:
    """The last line of each action that is not about a file, by kind and subject."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for place, line in enumerate(commit.lines):
        for name in ("protocol", "metaData"):
            if _there(getattr(line, name)):
                found[name, ""] = (commit.version, place)
    transactions = [place for place, line in enumerate(commit.lines) if _there(line.txn)]
    for place, transaction in zip(transactions, commit.transactions(), strict=True):
        found["txn", transaction.app_id] = (commit.version, place)
    domains = [place for place, line in enumerate(commit.lines) if _there(line.domainMetadata)]
    for place, domain in zip(domains, commit.domains(), strict=True):
        found["domainMetadata", domain.domain] = (commit.version, place)
    return found


def _there(raw: msgspec.Raw) -> bool:
    return bool(raw) and bytes(raw) != b"null"


def _kept(
    commit: Commit, data: bytes, newest: Reconciliation, small: dict[tuple[str, str], tuple[int, int]]
) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of the actions of a commit that no later one replaces."""
    texts = action_lines(data)
    places: dict[int, list[str]] = {}
    for (name, _), (version, place) in small.items():
        if version == commit.version:
            places.setdefault(place, []).append(name)
    for place, line in enumerate(commit.lines):
        names = list(places.get(place, ()))
        if line.add is not None and newest.live.get(canonical_key(line.add.path)) is line.add:
            names.append("add")
        if line.remove is not None:
            key = canonical_key(line.remove.path), line.remove.vector_id
            names += ["remove"] * (newest.removed.get(key) is line.remove)
        if names:
            raw = _LINE.decode(texts[commit.line_number(place) - 1])
            yield from ((name.encode(), bytes(raw[name]).strip()) for name in names)
