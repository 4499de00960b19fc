"""Writing a log compaction file: the reconciled actions of a range of commits.

Protocol section: Log Compaction Files. Invariants: actions are the same as in their commits, in the same order;
removes and removed domains stay, however old (COMPACT-005, D-31): they may still cancel something older; provenance
and change files are left out (COMPACT-002); a range has only published commits (COMPACT-004).
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

_LINE: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def write_compaction(store: LogStore, listing: LogListing, first: int, last: int) -> str | None:
    """Write the compaction of the commits from one version to another, both included.

    Returns:
        Its key, or None if one of that range already exists.

    Raises:
        RequestError: The range has fewer than two versions.
        VersionNotFound: A commit of the range is missing.
        UnsupportedFeature: A catalog manages the table and a commit of the range is not published.
        TableError: A commit is damaged.
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
        TableError: A commit is damaged or vanished.
    """
    newest, small, read = Reconciliation(), {}, []
    for path, data in read_commit_files(store, commits):
        commit = decode_commit(data, path.version, path.path)
        newest.apply(commit)
        small.update(_small_actions(commit))
        read.append((commit, data))
    lines = [line for commit, data in read for line in _remaining(commit, data, newest, small)]
    return b"".join(b'{"%s":%s}\n' % line for line in lines)


def _commits(listing: LogListing, first: int, last: int) -> list[LogPath]:
    if not 0 <= first < last:
        raise RequestError(f"A compaction must end at a later version than it begins; {first} to {last} does not.")
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
    """Return the last line of each action that is not about a file, by kind and subject."""
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for index, line in enumerate(commit.lines):
        for name in ("protocol", "metaData"):
            if _is_present(getattr(line, name)):
                last[name, ""] = (commit.version, index)
    transactions = [index for index, line in enumerate(commit.lines) if _is_present(line.txn)]
    for index, transaction in zip(transactions, commit.transactions(), strict=True):
        last["txn", transaction.app_id] = (commit.version, index)
    domains = [index for index, line in enumerate(commit.lines) if _is_present(line.domainMetadata)]
    for index, domain in zip(domains, commit.domains(), strict=True):
        last["domainMetadata", domain.domain] = (commit.version, index)
    return last


def _is_present(raw: msgspec.Raw) -> bool:
    return bool(raw) and bytes(raw) != b"null"


def _remaining(
    commit: Commit, data: bytes, newest: Reconciliation, small: dict[tuple[str, str], tuple[int, int]]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and content of the actions of a commit that no later one replaces."""
    texts = action_lines(data)
    names_by_line: dict[int, list[str]] = {}
    for (name, _), (version, index) in small.items():
        if version == commit.version:
            names_by_line.setdefault(index, []).append(name)
    for index, line in enumerate(commit.lines):
        names = list(names_by_line.get(index, ()))
        if line.add is not None and newest.live.get(canonical_key(line.add.path)) is line.add:
            names.append("add")
        if line.remove is not None:
            key = canonical_key(line.remove.path), line.remove.vector_id
            names += ["remove"] * (newest.removed.get(key) is line.remove)
        if names:
            raw = _LINE.decode(texts[commit.line_number(index) - 1])
            yield from ((name.encode(), bytes(raw[name]).strip()) for name in names)
