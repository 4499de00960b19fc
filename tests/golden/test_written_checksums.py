"""Version checksums of our own beside those that the reference wrote for the same versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.log.writing.checksum import next_checksum, version_checksum
from explorer.storage import open_store
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
MASKS = ("numDeletedRecordsOpt", "numDeletionVectorsOpt", "deletedRecordCountsHistogramOpt")


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "tables").iterdir()))
@pytest.mark.conformance("CRC-002", "CRC-003", "CRC-004", "CRC-005")
def test_in_full_and_step_by_step_they_are_the_reference_s_own(name: str) -> None:
    """Differences: files are not listed; masks are counted exactly where the protocol has deletion vectors.

    The reference counts them from the first version at which it computes all anew, and goes on counting after the
    feature is dropped until it does so again.
    """
    store = open_store(ROOT / "tables" / name)
    listing = list_log(store)
    before: tuple[bytes, Any] | None = None
    stepped = 0
    for version in range(listing.earliest(), listing.latest + 1):
        segment = listing.segment(version)
        commits = list(read_commits(store, segment.commits))
        base = checkpoint_reader(store, segment)
        state, files = replay_state(base, commits, segment.version), replay_files(base, commits)
        own = next(iter(read_commits(store, [listing.commits[version]])))
        full = version_checksum(state, files, own.commit_info())
        assert full is not None
        path = listing.checksums.get(version)
        if path is not None:
            _same(json.loads(msgspec.json.encode(full)), json.loads(store.read(path.path)))
        if before is not None:
            # With the files before it is never in doubt; by the commit's word it may be, but is never wrong.
            assert next_checksum(before[0], own, state, before[1]) == full
            alone = next_checksum(before[0], own, state, vouched=True)
            assert alone in (None, full)
            stepped += alone is not None
        before = msgspec.json.encode(full), files
    assert stepped or name == "log-cleanup" or listing.latest < 3


def _same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    theirs.pop("allFiles", None)
    supported = "deletionVectors" in ours["protocol"].get("writerFeatures", ())
    for member in MASKS:
        if supported and member in theirs:
            assert ours[member] == theirs[member]
        assert (member in ours) is supported
        ours.pop(member, None)
        theirs.pop(member, None)
    for member, key in (("setTransactions", "appId"), ("domainMetadata", "domain")):
        for side in (ours, theirs):
            side[member] = sorted(side[member], key=lambda action: action[key])
    assert ours == theirs


def test_there_is_a_checksum_to_compare_with_for_nearly_every_version() -> None:
    assert len(list(Path(ROOT / "tables").glob("*/_delta_log/*.crc"))) > 500
