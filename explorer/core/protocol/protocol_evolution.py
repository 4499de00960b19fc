"""How a protocol may change: features added with those they need, versions raised, a feature taken out.

Protocol sections: Protocol Evolution, Table Features, Supported Features. Invariants: versions only rise and features
stay, except a feature that is dropped by name (PROTO-006, FEAT-006); a table that gets feature lists lists every
feature that its old version implied (FEAT-005); a feature comes with those it needs (FEAT-009); reader version 3 exists
only with writer version 7, lists only with 3 and 7 (FEAT-004).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.table_features import FEATURES, supported_features

_LADDER: Final = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6))
LEGAL_VERSIONS: Final = (*_LADDER, (1, 7), (2, 7), (3, 7))
"""Legal pairs of reader and writer version."""


def with_closure(names: Iterable[str]) -> tuple[str, ...]:
    """Return the features named and all that they need, each once, what is needed first."""
    closure: dict[str, None] = {}
    for name in names:
        closure |= dict.fromkeys((*with_closure(_required(name)), name))
    return tuple(closure)


def dependents(name: str, protocol: Protocol) -> tuple[str, ...]:
    """Return the features of a protocol that need another one."""
    return tuple(other for other in supported_features(protocol) if name in with_closure([other]) and other != name)


def minimal_protocol(names: Iterable[str]) -> Protocol:
    """Return the protocol of a new table with these features; without any it is (1, 2) (PROTO-011)."""
    return with_features(Protocol(min_reader_version=1, min_writer_version=2), names)


def with_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """Add features and what they need; the same protocol if it has them all.

    A protocol without lists stays without them where an older version implies exactly these features; else it gets
    them.
    """
    have = supported_features(protocol)
    missing = [name for name in with_closure(names) if name not in have]
    if not missing:
        return protocol
    wanted = (*have, *missing)
    legacy = _legacy(wanted)
    if legacy is not None and legacy[0] >= protocol.min_reader_version and legacy[1] >= protocol.min_writer_version:
        return _versions(protocol, *legacy)
    return _listed(protocol, wanted, protocol.min_reader_version)


def with_versions(protocol: Protocol, reader: int, writer: int) -> Protocol:
    """Raise the versions; a protocol that reaches 7, or 3, gets the lists with all that it implied."""
    if (reader, writer) == (protocol.min_reader_version, protocol.min_writer_version):
        return protocol
    if writer < 7:
        return _versions(protocol, reader, writer)
    return _listed(protocol, supported_features(protocol), reader)


def is_legal_upgrade(protocol: Protocol, reader: int, writer: int) -> bool:
    """Return whether a protocol may be raised to these versions, or has them."""
    if (reader, writer) not in LEGAL_VERSIONS:
        return False
    return reader >= protocol.min_reader_version and writer >= protocol.min_writer_version


def without_feature(protocol: Protocol, name: str) -> Protocol:
    """Take a feature out; what is left falls back to the oldest version that implies exactly this."""
    left = tuple(other for other in supported_features(protocol) if other != name)
    legacy = _legacy(left)
    return _listed(protocol, left, 1) if legacy is None else _versions(protocol, *legacy)


def protocol_problems(protocol: Protocol) -> tuple[str, ...]:
    """Return why a protocol is illegal by itself, in words; empty if it may be written."""
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    readers, writers = protocol.reader_features, protocol.writer_features
    problems = []
    if reader == 3 and writer != 7:
        problems.append("reader version 3 needs writer version 7 (PROTO-009)")
    if (reader >= 3) != (readers is not None):
        problems.append("readerFeatures exist with reader version 3 and with no other (FEAT-004)")
    if (writer >= 7) != (writers is not None):
        problems.append("writerFeatures exist with writer version 7 and with no other (FEAT-004)")
    alone = [name for name in readers or () if name not in (writers or ())]
    if alone:
        problems.append(f"{', '.join(alone)} are listed for readers only (FEAT-003)")
    if readers is not None:
        half = [name for name in writers or () if name in FEATURES and FEATURES[name].reader and name not in readers]
        if half:
            problems.append(f"{', '.join(half)} bind readers too and are listed for writers only (FEAT-003)")
        wrong = [name for name in readers if name in FEATURES and not FEATURES[name].reader]
        if wrong:
            problems.append(f"{', '.join(wrong)} bind writers alone and are listed for readers (FEAT-003)")
    have = supported_features(protocol)
    for name in have:
        lacking = [need for need in _required(name) if need not in have]
        if lacking:
            problems.append(f"{name} needs {', '.join(lacking)} (FEAT-009)")
    return tuple(problems)


def evolution_problems(before: Protocol, after: Protocol, dropped: str | None = None) -> tuple[str, ...]:
    """Return why a change from one protocol to another is illegal, in words.

    Args:
        before, after: The protocol in force, and the one to be written.
    """
    problems = []
    if dropped is None:
        if after.min_reader_version < before.min_reader_version:
            problems.append(f"the reader version falls from {before.min_reader_version} to {after.min_reader_version}")
        if after.min_writer_version < before.min_writer_version:
            problems.append(f"the writer version falls from {before.min_writer_version} to {after.min_writer_version}")
    have = supported_features(after)
    lost = [name for name in supported_features(before) if name not in have and name != dropped]
    if lost:
        problems.append(f"the features {', '.join(lost)} would be lost")
    return tuple(problems)


def _required(name: str) -> tuple[str, ...]:
    return FEATURES[name].requires if name in FEATURES else ()


def _legacy(names: Iterable[str]) -> tuple[int, int] | None:
    """Return the versions that imply exactly these features, if there are any."""
    wanted = frozenset(names)
    for reader, writer in _LADDER:
        if wanted == frozenset(supported_features(Protocol(min_reader_version=reader, min_writer_version=writer))):
            return reader, writer
    return None


def _listed(protocol: Protocol, names: Iterable[str], at_least: int) -> Protocol:
    """Return the protocol with lists: reader version 3 if a feature binds readers that no older version implies."""
    features = tuple(dict.fromkeys(names))
    readers = tuple(name for name in features if name in FEATURES and FEATURES[name].reader)
    reader = max([at_least, *(FEATURES[name].min_reader_version or 3 for name in readers)])
    return msgspec.structs.replace(
        protocol,
        min_reader_version=reader,
        min_writer_version=7,
        reader_features=readers if reader == 3 else None,
        writer_features=features,
    )


def _versions(protocol: Protocol, reader: int, writer: int) -> Protocol:
    return msgspec.structs.replace(
        protocol, min_reader_version=reader, min_writer_version=writer, reader_features=None, writer_features=None
    )
