"""Plans and commits: on logs of ten thousand commits, against the bare put, and beside other writers."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import explorer
from explorer.core.log.log_path import commit_name
from explorer.storage import open_store
from tests.benchmarks.runs import run
from tests.benchmarks.sets import FOLDER, WARM, prepared
from tests.support.clients.reference_writer import ReferenceUnavailable, ReferenceWriter
from tests.support.logs.small_logs import METADATA, PROTOCOL, write

ROUNDS = 40
COMMITS = 100
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else FOLDER  # noqa: S108 - tables of the bench are no secret
PLACES = {"memory": MEMORY, "disk": FOLDER}
SETS: dict[str, tuple[str, list[str] | None]] = {
    "10,000 commits, a checkpoint every hundred": ("M", None),
    "10,000 commits since the checkpoint, 1,000,000 files": ("W", WARM),
}


def measure() -> Iterator[dict[str, Any]]:
    """One record a line of the page: ``of`` says of which table it is (plan, put or row); times in milliseconds."""
    for name, arguments in SETS.values():
        prepared(name, arguments)
    for part in PARTS:
        measured: dict[str, Any] = run(__name__, part)
        for row in measured["rows"]:
            yield {"of": part, **row}


def main() -> None:
    """Print the records of one part."""
    print(json.dumps({"rows": list(PARTS[sys.argv[1]]())}))


def plans() -> Iterator[dict[str, Any]]:
    """A plan of a change of metadata, on a table that was just opened and on one that is open."""
    for what, (name, arguments) in SETS.items():
        place = prepared(name, arguments)
        cold = _median(lambda place=place: _plan(explorer.open_table(place), 0), 5)
        table = explorer.open_table(place)
        _plan(table, 0)
        warm = _median(lambda table=table: _plan(table, 1), ROUNDS)
        yield {"what": what, "opened": cold, "open": warm, "goal": 50}


def puts() -> Iterator[dict[str, Any]]:
    """A commit against the durable creation of a file with the same content in the same folder."""
    empty = Path(tempfile.mkdtemp(dir=FOLDER))
    write(open_store(empty), {0: (PROTOCOL, METADATA)})
    places = {"a new table": empty}
    for what, (name, arguments) in SETS.items():
        places[what] = _linked(prepared(name, arguments))
    for what, place in places.items():
        yield {"what": what, "goal": 1.5, **_compare_puts(place)}
        shutil.rmtree(place)
        if place.parent != FOLDER:
            place.parent.rmdir()


def rows() -> Iterator[dict[str, Any]]:
    """A hundred changes of a property one after the other, by three writers that make a checkpoint at the hundredth.

    In memory, where waiting for the disk costs nothing, and on the disk, where deltalake does not wait.
    """
    writers: dict[str, Callable[[Path], float]] = {"delta-explorer": _ours, "deltalake": _deltalake}
    for what, writer in writers.items():
        _measured(writer, MEMORY)
        yield {"what": what, **{name: _measured(writer, folder) for name, folder in PLACES.items()}}
    try:
        yield {"what": "delta-spark", **_reference()}
    except ReferenceUnavailable as error:
        print(f"delta-spark cannot be had: {error}", file=sys.stderr)


PARTS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {"plan": plans, "put": puts, "row": rows}


def _plan(table: explorer.Table, number: int) -> None:
    plan = table.plan({"kind": "set-description", "description": f"number {number}"}, user="bench")
    assert plan.committable


def _compare_puts(place: Path) -> dict[str, float]:
    """Puts and commits in turn, each right after a plan was made: what a disk takes depends on what was done before.

    Beside them the same put with a plain file after it, as a version checksum is one: what all of a commit has to cost.
    """
    table = explorer.open_table(place)
    times: dict[str, list[float]] = {"put": [], "visible": [], "puts": [], "whole": []}
    store = table.store
    put, visible = store.put_if_absent, [0.0]

    def noted(path: str, data: bytes, **options: bool) -> None:
        put(path, data, **options)
        if path.endswith(".json"):
            visible[0] = time.perf_counter()

    def plan() -> Any:
        return table.plan({"kind": "set-transaction", "appId": "bench", "version": number + 1}, user="bench")

    store.put_if_absent = noted  # type: ignore[method-assign]
    for number in range(ROUNDS):
        planned = plan()
        start = time.perf_counter()
        result = table.commit(planned)
        times["whole"].append(time.perf_counter() - start)
        times["visible"].append(visible[0] - start)
        assert result.outcome == "committed"
        assert result.version is not None
        data = put.__self__.read(commit_name(result.version))  # type: ignore[attr-defined]
        plan()
        start = time.perf_counter()
        put(f"_delta_log/{number}.bare", data)
        times["put"].append(time.perf_counter() - start)
        put(f"_delta_log/{number}.plain", data, durable=False)
        times["puts"].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


def _ours(place: Path) -> float:
    table = explorer.open_table(place)

    def commit(number: int) -> None:
        result = table.commit(table.plan({"kind": "set-properties", "properties": {"bench": str(number)}}))
        assert result.outcome == "committed"

    return _row(commit)


def _deltalake(place: Path) -> float:
    from deltalake import DeltaTable

    table = DeltaTable(str(place))

    def commit(number: int) -> None:
        table.alter.set_table_properties({"bench": str(number)}, raise_if_not_exists=False)

    return _row(commit)


def _reference() -> dict[str, float]:
    writer = ReferenceWriter(Path(tempfile.mkdtemp(dir=FOLDER)))
    try:

        def altered(place: Path) -> float:
            return _row(lambda number: _alter(writer, place, number))

        # The first command of a new JVM compiles what the others use.
        _measured(lambda place: _timed(lambda: _alter(writer, place, 0)), MEMORY)
        return {name: _measured(altered, folder) for name, folder in PLACES.items()}
    finally:
        writer.close()


def _measured(writer: Callable[[Path], float], folder: Path) -> float:
    place = _place(folder)
    try:
        return writer(place)
    finally:
        shutil.rmtree(place)


def _alter(writer: ReferenceWriter, place: Path, number: int) -> None:
    writer.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('bench' = '{number}')")


def _place(folder: Path) -> Path:
    """A new table in a folder."""
    place = Path(tempfile.mkdtemp(dir=folder))
    metadata = msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": str(COMMITS)})
    write(open_store(place), {0: (PROTOCOL, metadata)})
    return place


def _row(commit: Callable[[int], None]) -> float:
    return _timed(lambda: [commit(number) for number in range(COMMITS)])


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _linked(place: Path) -> Path:
    """A copy of a log that shares the content of its files: nothing of a log but the hint is ever overwritten."""
    copy = Path(tempfile.mkdtemp(dir=place.parent)) / place.name
    shutil.copytree(place, copy, copy_function=os.link)
    hint = copy / "_delta_log" / "_last_checkpoint"
    data = hint.read_bytes()
    hint.unlink()
    hint.write_bytes(data)
    return copy


def _median(action: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    main()
