"""Tables of few bytes that would take very much memory are refused by name, and cost little until they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.attacks.bombs import BOMBS, make_bomb
from tests.support.attacks.odd_bombs import ODD_BOMBS
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines
from tests.support.shared_tables import REPOSITORY

_MOST_BYTES: Final = 200 << 20
_MOST_SECONDS: Final = 2.0
_KINDS: Final = BOMBS | ODD_BOMBS
_SIZES: Final = (256, 1024) if WHOLE_DOSE else (256,)
# Kinds of which nothing is refused: what they hold too much of is not needed, or a finding of the verification.
_HARMLESS: Final = {
    "a hint with a long name",
    "objects in a checksum",
    "objects in a log compaction",
    "deeply nested statistics",
}
# Kinds that no variable lets through.
_BROKEN: Final = {
    "a deletion vector of very many bitmaps": "CorruptDeletionVector",
    "a deeply nested schema": "LimitExceeded",
    "a schema of nested brackets": "LimitExceeded",
}
_IN_EVERY_RUN: Final = (
    "statistics repeated by a dictionary",
    "texts repeated by their prefix",
    "objects in commitInfo",
    "a deletion vector of one run",
    "a sidecar of a million columns",
    "a deletion vector of 2^32 rows that claims one",
)


@pytest.mark.sampled(cases=3)
@pytest.mark.parametrize("mebibytes", _SIZES)
@pytest.mark.parametrize("kind", _KINDS if WHOLE_DOSE else _IN_EVERY_RUN)
def test_a_bomb_is_refused_by_name_and_takes_little(kind: str, mebibytes: int, tmp_path: Path) -> None:
    stored = make_bomb(_KINDS[kind], tmp_path / "bomb", mebibytes)
    measured = _measured(tmp_path, tmp_path / "bomb")
    found = measured["error"]
    print(f"{kind}, {mebibytes} MiB in {stored:,} bytes: {measured['bytes']:,} bytes, {measured['seconds']:.2f} s")
    if kind in _HARMLESS:
        assert found is None
    elif kind in _BROKEN:
        assert found["error"] == _BROKEN[kind]
    else:
        assert found["error"] == "LimitExceeded"
        assert found["found"] > found["allowed"]
        assert "DELTA_EXPLORER_MAX_DECODED_BYTES" in found["message"]
    assert measured["bytes"] < _MOST_BYTES
    if WHOLE_DOSE:
        assert measured["seconds"] < _MOST_SECONDS


def _measured(folder: Path, bomb: Path) -> dict[str, Any]:
    """What another process took to read a table, after it read one that is harmless."""
    honest = folder / "honest" / "_delta_log"
    honest.mkdir(parents=True)
    (honest / f"{0:020}.json").write_bytes(lines([PROTOCOL, METADATA, add("a")]))
    command = [sys.executable, "-m", "tests.support.attacks.bomb_process", str(honest.parent), str(bomb)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True, text=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
