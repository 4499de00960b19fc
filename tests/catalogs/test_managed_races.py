"""Writers that commit through a catalog at once, in processes of their own: nothing is lost, and nothing is doubled."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import msgspec
import pytest

from explorer.catalogs.opening import client_of
from explorer.catalogs.settings import settings_from
from tests.catalogs.conftest import REAL, maker
from tests.catalogs.test_managed_commits import is_update
from tests.prove.racers.patient_racer import patiently
from tests.prove.racers.race import OURS, race
from tests.prove.racers.racer import SHARED, append_plan, remove_plan, settled
from tests.support.at_least_one import at_least_one
from tests.support.catalogs.lossy_proxy import lossy_proxy
from tests.support.catalogs.unity_server import Answer, Fault, Request, UnityServer, refused

Make = Callable[..., Any]


def check(made: Any, told: Sequence[dict[str, Any]], left: int = 0) -> Counter[str]:
    """Hold what the writers were told against the log and the catalog.

    Args:
        left: How many staged files of ours may stay that were never ratified: of tries whose outcome nobody could look
            up. delta-spark leaves those of all its tries.
    """
    table = made.open()
    outcomes = Counter(each["outcome"] for each in told)
    assert outcomes.keys() <= {"committed", "conflicted", "rejected"}
    won = [each for each in told if each["outcome"] == "committed"]
    assert table.latest_version() == 1 + len(won)
    infos = {version: info_of(table.commit_actions(version)) for version in range(1, table.latest_version() + 1)}
    marks = {version: info.get("userMetadata") or info["txnId"] for version, info in infos.items() if version > 1}
    assert sorted(marks.values()) == sorted(each["id"] for each in won), "each is there once, and no other"
    assert all(each["version"] is None or marks[each["version"]] == each["id"] for each in at_least_one(won))
    snapshot = table.snapshot()
    assert snapshot.num_records == 10 + sum(each["rows"] for each in won)
    assert snapshot.transactions.get(SHARED, 0) == sum(each["what"] == "batch" for each in won)
    assert [problem for problem in table.verify().problems if problem.kind != "stale-hint"] == []
    staged = (Path(made.folder) / "_delta_log" / "_staged_commits").glob("*.json")
    ours = sum(is_ours(info_of(path.read_bytes().splitlines())) for path in staged)
    assert 0 <= ours - sum(map(is_ours, infos.values())) <= left, "of tries that lost no staged file stays"
    return outcomes


def info_of(lines: Iterable[bytes | str]) -> dict[str, Any]:
    (info,) = [line["commitInfo"] for line in map(msgspec.json.decode, lines) if "commitInfo" in line]
    return dict(info)


def is_ours(info: dict[str, Any]) -> bool:
    return "Apache-Spark" not in info.get("engineInfo", "")


def start(make_managed: Make) -> Any:
    made = make_managed(columns=1)
    table = made.open()
    assert table.commit(append_plan(table, "start", 10)).outcome == "committed"
    return made


def unreliable(seed: int) -> Fault:
    """Return faults of some changes: answers lost before and after, unknown outcomes, a busy server."""
    pick = random.Random(seed)

    def fault(request: Request) -> Answer | None:
        if request.method == "GET" or pick.random() > 0.3:
            return None
        if not is_update(request):
            return pick.choice([Answer(drop=True, after=True), refused(500, "InternalServerErrorException")])
        return pick.choice(
            [
                Answer(drop=True),
                Answer(drop=True, after=True),
                refused(500, "CommitStateUnknownException"),
                refused(500, "CommitStateUnknownException", after=True),
                refused(429, "TooManyRequestsException"),
            ]
        )

    return fault


def test_two_writers_at_once_lose_nothing(make_managed: Make) -> None:
    made = start(make_managed)
    barrier = Barrier(2)

    def write(name: str) -> list[dict[str, Any]]:
        table, told = made.open(), []
        barrier.wait(60)
        for rows in range(1, 5):
            plan = append_plan(table, name, rows)
            result = settled(table, plan)
            told.append(
                {
                    "what": "append",
                    "id": plan.txn_id,
                    "outcome": result.outcome,
                    "version": result.version,
                    "rows": rows,
                }
            )
        return told

    with ThreadPoolExecutor(2) as pool:
        told = [each for answer in pool.map(write, "ab") for each in answer]
    assert check(made, told) == {"committed": 8}


@pytest.mark.sampled(cases=3)
@pytest.mark.conformance("CATALOG-004")
@pytest.mark.parametrize("asked", range(1, 9))
def test_a_commit_that_is_ratified_while_others_are_judged_is_judged_too(
    make_own: Make, server: UnityServer, asked: int
) -> None:
    made = make_own(columns=1, **{"delta.checkpointInterval": "2"})
    table = made.open()
    assert table.commit(append_plan(table, "start", 10)).outcome == "committed"
    mine, other = made.open(), made.open()
    (plan, rows), (same, _) = (remove_plan(each, "both", random.Random(0)) for each in (mine, other))
    for number in range(3):
        assert table.commit(append_plan(table, f"between {number}", 1)).outcome == "committed"
    loads, outcomes = [0], list[str]()

    def overtaking(request: Request) -> Answer | None:
        if request.method == "GET" and request.path.endswith(made.name):
            loads[0] += 1
            if loads[0] == asked:
                server.faults.clear()
                outcomes.append(other.commit(same).outcome)
        return None

    server.faults.append(overtaking)
    outcomes.insert(0, mine.commit(plan).outcome)
    server.faults.clear()
    if len(outcomes) == 1:
        outcomes.append(other.commit(same).outcome)
    assert sorted(outcomes) == ["committed", "conflicted"], "both remove one file"
    assert made.open().snapshot().num_records == 3
    assert rows == 10


def test_a_catalog_that_is_restarted_in_the_midst_loses_nothing(make_own: Make, server: UnityServer) -> None:
    made = start(make_own)
    barrier = Barrier(4)

    def write(name: str) -> list[dict[str, Any]]:
        table, told = made.open(), []
        barrier.wait(60)
        for rows in range(1, 5):
            plan = patiently(lambda rows=rows: append_plan(table, name, rows))
            # A plan has an identifier, so that the same plan again is not made twice.
            result = patiently(lambda plan=plan: settled(table, plan))
            told.append({"what": "append", "id": plan.txn_id, "outcome": result.outcome, "version": result.version})
            told[-1]["rows"] = rows
            if name == "a" and rows == 2:
                server.restart(1.0)
        return told

    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(write, name) for name in "bcd"]
        told = write("a")
        told += [each for other in others for each in other.result()]
    assert check(made, told) == {"committed": 16}


@pytest.mark.whole("test_two_writers_at_once_lose_nothing")
@pytest.mark.timeout(1_200)
def test_eight_writers_at_once_lose_nothing(make_managed: Make) -> None:
    made = start(make_managed)
    outcomes = check(made, race(made.address, {}, [(OURS, 20)] * 8))
    assert outcomes["committed"] > 80


@pytest.mark.whole("test_two_writers_at_once_lose_nothing")
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", range(3))
def test_eight_writers_through_an_unreliable_catalog_lose_nothing(
    make_own: Make, server: UnityServer, seed: int
) -> None:
    made = start(make_own)
    server.faults.append(unreliable(seed))
    told = race(made.address, {}, [(OURS, 10)] * 8)
    server.faults.clear()
    check(made, told)


PATIENT: Final = "tests.prove.racers.patient_racer"
CONNECTED: Final = "tests.prove.racers.connected_racer"


@pytest.mark.whole("test_a_catalog_that_is_restarted_in_the_midst_loses_nothing")
@pytest.mark.timeout(2_400)
def test_eight_writers_lose_nothing_while_answers_are_lost_and_the_catalog_is_restarted(
    make_managed: Make,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """``UNITY_CATALOG_RESTART`` is a command that restarts a real server; without it, none is part of the race."""
    own = request.node.callspec.params["make_managed"] == "own"
    restart = partial(request.getfixturevalue("server").restart, 1.0) if own else _restart
    made = start(make_managed)
    address = os.environ["UNITY_CATALOG_URL"]
    with lossy_proxy(address) as proxy, ThreadPoolExecutor(1) as pool, monkeypatch.context() as through:
        through.setenv("UNITY_CATALOG_URL", proxy.url)
        racing = pool.submit(race, made.address, {}, [(PATIENT, 10)] * 8)
        proxy.await_changes(20, 1_200)
        restart()
        told = racing.result()
        lost = dict(proxy.counts)
    record_property("found", {f"{what} lost": lost[what] for what in ("request", "answer")})
    assert min(lost["request"], lost["answer"]) > 5, lost
    outcomes = check(made, told, left=sum(lost[what] for what in ("request", "answer", "away")))
    record_property("found", dict(outcomes))
    assert outcomes["committed"] > 40


def _restart() -> None:
    """Restart the real server, if there is a command for it, and wait until it answers."""
    command = os.environ.get("UNITY_CATALOG_RESTART")
    if command:
        subprocess.run(shlex.split(command), check=True, timeout=300)
        client = client_of(settings_from())
        patiently(lambda: list(client.catalogs()))


@pytest.mark.interop
@pytest.mark.spark
@pytest.mark.whole("test_two_writers_at_once_lose_nothing")
@pytest.mark.timeout(2_400)
@pytest.mark.skipif("UNITY_CATALOG_URL" not in REAL, reason="UNITY_CATALOG_URL names no server")
@pytest.mark.skipif("UNITY_CATALOG_CONNECTOR" not in REAL, reason="UNITY_CATALOG_CONNECTOR names no connector of Spark")
def test_delta_spark_with_the_catalog_s_connector_and_eight_writers_lose_nothing(
    record_property: Callable[[str, object], None],
) -> None:
    """``UNITY_CATALOG_CONNECTOR``: the jars of ``unitycatalog-spark``, or its coordinates, and what it needs."""
    made = start(maker())
    told = race(made.address, {}, [(OURS, 10)] * 8 + [(CONNECTED, 20)])
    assert [each for each in told if "why" in each] == []
    outcomes = check(made, told)
    record_property("found", dict(outcomes))
    assert outcomes["committed"] > 60
    (seen,) = race(made.address, {}, [(CONNECTED, 0)])
    assert seen["rows"] == made.open().snapshot().num_records, "Spark reads the same rows"
