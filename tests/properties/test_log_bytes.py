"""A single byte of a saved log changed, added, removed or moved is found against the chain head that was saved.

The head stands for what the commits say: what a reading by Python's own JSON says of a commit that was struck decides
whether anything was changed. Bytes that say nothing (spacing, the order of lines, another spelling of a text) may pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.auditing import AuditInputs, Subject, audit
from explorer.auditing.rules.integrity import INTEGRITY_RULES
from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.actions import encode_line
from explorer.core.protocol.log_store import LogStore
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs

_CHANGES = ("changed", "added", "removed", "moved")
_RULES = tuple(rule for rule in INTEGRITY_RULES if rule.id == "tampered-log")


@cache
def _saved() -> tuple[dict[int, bytes], str]:
    """The commits of a log by version, and its head."""
    fraction = b'{"txn":{"appId":"\xc3\xa4 \\u00e9","version":1,"lastUpdated":10.50}}'
    commits: dict[int, list[Any]] = {
        0: [small_logs.commit_info("CREATE TABLE", user_name="ben"), small_logs.PROTOCOL, small_logs.METADATA],
        1: [small_logs.add("0.parquet", 7, bounds={"id": (1, 9)}), small_logs.add("1.parquet", None)],
        2: [small_logs.remove("0.parquet"), small_logs.add("2.parquet", 3), fraction],
    }
    files = {
        version: b"\n".join(line if isinstance(line, bytes) else encode_line(line) for line in lines) + b"\n"
        for version, lines in commits.items()
    }
    head = verify(_store(files)).chain_head
    assert head is not None
    return files, head


def _store(files: Mapping[int, bytes]) -> LogStore:
    store = small_logs.new_store()
    for version, data in files.items():
        store.put_if_absent(commit_name(version), data)
    return store


def _struck(data: bytes, at: int, change: str, byte: int) -> bytes:
    match change:
        case "changed":
            return data[:at] + bytes([byte]) + data[at + 1 :]
        case "added":
            return data[:at] + bytes([byte]) + data[at:]
        case "removed":
            return data[:at] + data[at + 1 :]
        case _:
            there = byte % len(data)
            rest = data[:at] + data[at + 1 :]
            return rest[:there] + data[at : at + 1] + rest[there:]


def _meaning(data: bytes) -> list[str] | None:
    """What the lines say, in any order; None if they are no JSON."""
    try:
        read = [json.loads(line, parse_float=Decimal) for line in data.decode().split("\n") if line.strip()]
    except (UnicodeDecodeError, ValueError, ArithmeticError):
        return None
    return sorted(json.dumps(line, sort_keys=True, default=str) for line in read)


def _is_found(files: Mapping[int, bytes], head: str) -> bool:
    """Whether verifying gives another head, or none."""
    return verify(_store(files)).chain_head != head


@given(st.integers(0, 2), st.integers(0, 2**20), st.sampled_from(_CHANGES), st.integers(0, 255))
def test_of_a_commit(version: int, place: int, change: str, byte: int) -> None:
    files, head = _saved()
    data = files[version]
    struck = _struck(data, place % len(data), change, byte)
    says_the_same = _meaning(struck) == _meaning(data)
    assert says_the_same or _is_found({**files, version: struck}, head)


def test_every_byte_of_a_log_counts_unless_it_says_nothing() -> None:
    files, head = _saved()
    silent = []
    for version, data in at_least_one(files.items()):
        for at in at_least_one(range(len(data))):
            struck = _struck(data, at, "changed", data[at] ^ 1)
            if not _is_found({**files, version: struck}, head):
                silent.append((version, at, _meaning(struck) == _meaning(data)))
    assert all(same for *_, same in silent)
    assert len(silent) <= len(files), "at most the line breaks at the ends"


def test_commits_that_change_places_or_go_are_found_and_the_audit_says_so() -> None:
    files, head = _saved()
    logs: Sequence[Mapping[int, bytes]] = (
        {**files, 1: files[2], 2: files[1]},
        {0: files[0], 1: files[1]},
        {**files, 1: files[1] + files[2], 2: b""},
        {**files, 2: files[2] + files[2].splitlines(keepends=True)[0]},
    )
    for log in at_least_one(logs):
        assert _is_found(log, head)
        found = audit(Subject(explorer.Table(_store(log)), NOW, inputs=AuditInputs(chain_head=head)), _RULES)
        assert [each.rule for each in found.findings] == ["tampered-log"]
    whole = explorer.Table(_store({**files, 3: b'{"txn":{"appId":"a","version":1}}\n'}))
    assert audit(Subject(whole, NOW, inputs=AuditInputs(chain_head=head)), _RULES).findings == (), (
        "later commits may come"
    )
