"""Damage to any file of a log gives a typed error or the right answer: nothing else, and never a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, DeletionVectorDescriptor, DomainMetadata, TransactionAction
from tests.support.attacks.damage import Answer, Damage, Files, answers, plain_answer
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, add, lines, new_store, remove
from tests.support.shared_tables import golden_root

# The small dose is the same on every run; `make prove` looks for new damage.
SAME = not WHOLE_DOSE
GOLDEN = (
    "delta__spark-dbr_8_0_non_generated_columns",
    "kernelrs__v1-multi-part-partitioned-struct-stats-only",
    "kernelrs__v2-checkpoints-json-without-sidecars",
    "kernelrs__v2-checkpoints-parquet-with-last-checkpoint",
    "kernelrs__v2-classic-parquet-struct-stats-only",
    "delta__corrupted-last-checkpoint-kernel",
)
FRAGMENTS = (b"", b"\n", b"{", b"}", b'"', b"[" * 2_000, b"\xff", b"\x00", b"null", b"-1", b"1e999", b"PAR1", b"9" * 30)


@cache
def built(shape: Shape) -> Files:
    """A table of four versions with a checkpoint, masked rows inline, a hint, a checksum and a transaction."""
    vector = DeletionVectorDescriptor("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6)
    masked = add("b%20c", records=40, vector=vector)
    start: list[Action] = [
        MASKED,
        METADATA,
        add("a"),
        add("b%20c", records=40),
        TransactionAction(app_id="x", version=1),
    ]
    commits: list[list[Action]] = [
        start,
        [remove("b%20c"), masked, DomainMetadata(domain="d", configuration="1")],
        [remove("a"), add("d=1/e", records=None)],
        [add("a", records=7), TransactionAction(app_id="x", version=2)],
    ]
    store = new_store()
    files = {commit_name(version): lines(actions) for version, actions in enumerate(commits)}
    files["_delta_log/_last_checkpoint"] = b'{"version":1,"size":6}'
    files["_delta_log/00000000000000000003.crc"] = (
        b'{"tableSizeBytes":300,"numFiles":3,"numMetadata":1,"numProtocol":1}'
    )
    kept: list[Action] = [
        MASKED,
        METADATA,
        add("a"),
        masked,
        TransactionAction(app_id="x", version=1),
        DomainMetadata(domain="d", configuration="1"),
    ]
    for name in write_checkpoint(store, 1, kept, shape):
        files[name] = store.read(name)
    return files


@cache
def golden(name: str) -> Files:
    """Log and deletion vectors of a golden table."""
    root: Path = golden_root() / "tables" / name
    paths = [*root.glob("_delta_log/*"), *root.glob("_delta_log/_sidecars/*"), *root.rglob("*.bin")]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}


@cache
def untouched(name: str) -> dict[int, Answer | None]:
    """What is read of the table as it was."""
    return answers(table(name))


def table(name: str) -> Files:
    """A table by name."""
    return golden(name) if name in GOLDEN else built(name)


@st.composite
def damages(draw: st.DrawFn, files: Files) -> Damage:
    """A random damage to one of the files."""
    file = draw(st.sampled_from(sorted(files)))
    kind = draw(st.sampled_from(["truncate", "overwrite", "insert", "flip", "flip", "replace"]))
    content = draw(st.sampled_from(FRAGMENTS) | st.binary(min_size=1, max_size=12))
    return Damage(file, kind, draw(st.integers(0, len(files[file]))), content)


def examine(name: str, damage: Damage) -> None:
    """Read the damaged table; every answer is that of the untouched table, or what the bytes now plainly say."""
    damaged = damage.applied(table(name))
    before = untouched(name)
    for version, found in answers(damaged).items():
        if found is None or found == before.get(version):
            continue
        masked = found.pop("masked")
        known = (before.get(version) or {}).get("masked", {})
        for key, rows in masked.items():
            assert rows is None or key not in known or rows == known[key], (damage, version, key)
        unmasked = {key: value for key, value in (before.get(version) or {}).items() if key != "masked"}
        assert found in (unmasked, plain_answer(damaged, version)), (damage, version)


class _Apart:
    """Another process for damaged Parquet files: some make Arrow's reader end its process, which nobody can catch."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, name: str, damage: Damage) -> None:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        try:
            self._pool.submit(examine, name, damage).result()
        except BrokenProcessPool:
            self.close()
            event("Arrow ended the process")

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


_apart = _Apart()


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    _apart.close()


def examine_apart(name: str, damage: Damage) -> None:
    """Examine here, or in another process where the damaged file is Parquet."""
    if damage.file.endswith(".parquet"):
        _apart(name, damage)
    else:
        examine(name, damage)


_LOG = "_delta_log/0000000000000000000"
FOUND: tuple[tuple[str, Damage], ...] = (
    ("multi-part", Damage(f"{_LOG}0.json", "insert", 638, b"9" * 30)),
    ("classic", Damage(f"{_LOG}1.json", "truncate", 0, b"")),
    ("v2-json-sidecars", Damage("_delta_log/_sidecars/1-0.parquet", "flip", 979, b"")),
    ("v2-sidecars", Damage("_delta_log/_sidecars/1-0.parquet", "overwrite", 1091, b"\n")),
    ("v2-sidecars", Damage("_delta_log/_sidecars/1-1.parquet", "flip", 1400, b"")),
    ("classic", Damage(f"{_LOG}1.checkpoint.parquet", "flip", 26, b"")),
    ("multi-part", Damage(f"{_LOG}1.checkpoint.0000000001.0000000003.parquet", "flip", 37, b"\n")),
)
"""What longer searches found once: a count of thirty digits, a checkpoint that its emptied commit contradicts, and
Parquet whose broken pages and schema still read as fewer files, as no vector, as no values."""


@pytest.mark.sampled(cases=4)
@pytest.mark.parametrize(("shape", "damage"), FOUND)
def test_damage_that_once_got_through(shape: Shape, damage: Damage) -> None:
    examine_apart(shape, damage)


@pytest.mark.sampled(cases=2)
@pytest.mark.conformance("LOG-010", "LOG-011", "LASTCKPT-003", "CKPT-010", "CRC-006")
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=max(20, settings().max_examples // 5), derandomize=SAME, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_damaged_built_tables(shape: Shape, draw: st.DataObject) -> None:
    examine_apart(shape, draw.draw(damages(built(shape))))


@pytest.mark.sampled(cases=2)
@pytest.mark.golden
@pytest.mark.parametrize("name", GOLDEN)
@settings(
    max_examples=max(10, settings().max_examples // 10), derandomize=SAME, suppress_health_check=list(HealthCheck)
)
@given(draw=st.data())
def test_damaged_golden_tables(name: str, draw: st.DataObject) -> None:
    examine_apart(name, draw.draw(damages(golden(name))))
