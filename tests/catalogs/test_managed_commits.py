"""Commits of tables that a catalog manages: staged, ratified, published; conflicts, lost answers, a full catalog."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from explorer.core.errors import CatalogError, TableNotFound
from tests.support.at_least_one import at_least_one
from tests.support.catalogs.managed_tables import stage_rows
from tests.support.catalogs.unity_server import Answer, Fault, Request, UnityServer, refused

Make = Callable[..., Any]
_MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
_STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "b", "type": _MAP, "nullable": True, "metadata": {}},
    ],
}
_TAGS = {"type": "array", "elementType": _STRUCT, "containsNull": True}
ADD_COLUMN = {
    "kind": "add-columns",
    "fields": [{"name": "tags", "type": _TAGS, "nullable": True, "metadata": {}}],
}


def batch(application: str, version: int = 1) -> dict[str, Any]:
    return {"kind": "set-transaction", "appId": application, "version": version}


def commit(table: Any, intent: dict[str, Any]) -> Any:
    result = table.commit(table.plan(intent), user="ada", reason="why")
    assert result.outcome == "committed", result
    return result


def log_of(made: Any) -> list[str]:
    return sorted(path.name for path in (made.folder / "_delta_log").glob("*.json"))


def staged_of(made: Any) -> list[str]:
    return sorted(path.name for path in (made.folder / "_delta_log" / "_staged_commits").iterdir())


def loaded(made: Any) -> Any:
    return json.loads(made.client._http.get(f"/delta/v1/catalogs/main/schemas/shop/tables/{made.name}"))


def is_update(request: Request, action: str = "add-commit") -> bool:
    updates = request.body.get("updates", ()) if isinstance(request.body, dict) else ()
    return any(each["action"] == action for each in updates)


def once(fault: Fault, times: int = 1) -> Fault:
    """Return a fault for the first requests that it concerns."""
    left = [times]

    def limited(request: Request) -> Answer | None:
        answer = fault(request) if left[0] else None
        left[0] -= answer is not None
        return answer

    return limited


@pytest.mark.conformance("CATALOG-004", "CATALOG-005")
def test_a_commit_is_staged_ratified_and_published(make_managed: Make) -> None:
    made = make_managed()
    table = made.open()
    results = [commit(table, batch(f"app {number}")) for number in (1, 2)]
    assert [(result.version, result.notes) for result in results] == [(1, ()), (2, ())]
    assert log_of(made) == [f"{version:020d}.json" for version in range(3)]
    staged = staged_of(made)
    assert [name[:20] for name in staged] == [f"{1:020d}", f"{2:020d}"]
    for name in at_least_one(staged):
        published = (made.folder / "_delta_log" / f"{name[:20]}.json").read_bytes()
        assert (made.folder / "_delta_log" / "_staged_commits" / name).read_bytes() == published
    infos = [
        json.loads((made.folder / "_delta_log" / name).read_bytes().splitlines()[0])["commitInfo"]
        for name in log_of(made)
    ]
    times = [info["inCommitTimestamp"] for info in infos]
    assert times == sorted(set(times))
    assert len({info["txnId"] for info in infos}) == 3
    assert loaded(made)["latest-table-version"] == 2
    assert loaded(made)["commits"] == []
    assert made.open().snapshot().transactions == {"app 1": 1, "app 2": 1}
    assert made.open().verify().problems == ()


def test_changes_of_the_table_reach_the_catalog_with_the_commit(make_managed: Make) -> None:
    made = make_managed()
    table = made.open()
    commit(table, {"kind": "set-description", "description": "Orders"})
    commit(table, {"kind": "set-properties", "properties": {"owner.team": "shop", "delta.appendOnly": "true"}})
    commit(table, ADD_COLUMN)
    commit(table, {"kind": "unset-properties", "keys": ["owner.team"]})
    metadata = loaded(made)["metadata"]
    assert [field["name"] for field in metadata["columns"]["fields"]] == ["id", "name", "tags"]
    tags = metadata["columns"]["fields"][2]["type"]
    assert tags["element-type"]["fields"][1]["type"] == {
        "type": "map", "key-type": "string", "value-type": "long", "value-contains-null": True,
    }  # fmt: skip
    assert metadata["properties"]["delta.appendOnly"] == "true"
    assert metadata["properties"]["delta.feature.appendOnly"] == "supported"
    assert "owner.team" not in metadata["properties"]
    assert made.open().catalog_entry.comment == "Orders"
    assert (made.open().snapshot().metadata.description, made.open().latest_version()) == ("Orders", 4)


@pytest.mark.conformance("CATALOG-005")
def test_upkeep_is_the_catalog_s_and_checkpoints_are_not(make_managed: Make) -> None:
    made = make_managed(**{"delta.checkpointInterval": "2"})
    table = made.open()
    for number in range(2):
        commit(table, batch(f"app {number}"))
    checkpoints = [path.name for path in (made.folder / "_delta_log").glob("*.checkpoint.*")]
    assert [name[:20] for name in checkpoints] == [f"{2:020d}"]
    assert made.open().verify().problems == ()
    for kind in at_least_one(("vacuum", "optimize", "purge")):
        plan = table.plan({"kind": kind})
        (guard,) = [guard for guard in plan.blocking if guard.name == "catalog-managed"]
        assert "Only the catalog may do this" in guard.evidence["detail"]
        assert table.commit(plan).outcome == "rejected"
    off = table.plan({"kind": "set-properties", "properties": {"delta.enableInCommitTimestamps": "false"}})
    assert [guard.name for guard in off.blocking] == ["catalog-timestamps"]
    stage_rows(made.client, made.name, [1], 3)
    assert [guard.name for guard in table.plan({"kind": "checkpoint"}).blocking] == ["published"]
    commit(table, batch("later"))
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    assert made.open().snapshot().num_files == 1


def test_a_commit_that_came_first_is_judged_and_waiting_ones_are_published(make_managed: Make) -> None:
    made = make_managed()
    table = made.open()
    plan = table.plan(batch("mine"))
    for version in (1, 2):
        stage_rows(made.client, made.name, [version], version)
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", 3)
    assert log_of(made) == [f"{version:020d}.json" for version in range(4)]
    assert loaded(made)["commits"] == []
    assert made.open().head().num_rows == 2
    assert len(staged_of(made)) == 3, "the staged file of the try that lost is gone"


def test_a_commit_that_changed_the_metadata_first_conflicts(make_managed: Make) -> None:
    made = make_managed()
    mine, other = made.open(), made.open()
    plan = mine.plan(ADD_COLUMN)
    commit(other, {"kind": "set-properties", "properties": {"a": "1"}})
    assert (mine.commit(plan).outcome, made.open().latest_version()) == ("conflicted", 1)


def test_a_full_catalog_is_relieved_by_publishing(make_managed: Make) -> None:
    made = make_managed()
    for version in range(1, 11):
        stage_rows(made.client, made.name, [version], version)
    table = made.open()
    result = commit(table, batch("eleven"))
    assert result.version == 11
    assert log_of(made) == [f"{version:020d}.json" for version in range(12)]
    assert made.open().head(20).num_rows == 10


def _dropped(request: Request) -> Answer | None:
    return Answer(drop=True) if is_update(request) else None


def _unsaid(request: Request) -> Answer | None:
    return Answer(drop=True, after=True) if is_update(request) else None


def _unknown(request: Request) -> Answer | None:
    return refused(500, "CommitStateUnknownException") if is_update(request) else None


def _unknown_after(request: Request) -> Answer | None:
    return refused(500, "CommitStateUnknownException", after=True) if is_update(request) else None


def _nonsense_after(request: Request) -> Answer | None:
    return Answer(body=b"<html>gateway</html>", after=True) if is_update(request) else None


def _busy(request: Request) -> Answer | None:
    return refused(429, "TooManyRequestsException") if is_update(request) else None


def _conflict_after(request: Request) -> Answer | None:
    return refused(409, "CommitVersionConflictException", after=True) if is_update(request) else None


def _gateway(request: Request) -> Answer | None:
    return Answer(504, b"", after=True) if is_update(request) else None


LOST = (_dropped, _unsaid, _unknown, _unknown_after, _nonsense_after, _busy, _conflict_after, _gateway)


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_is_lost_makes_one_commit(make_own: Make, server: UnityServer, fault: Fault, times: int) -> None:
    made = make_own()
    table = made.open()
    server.faults.append(once(fault, times))
    result = commit(table, batch("once"))
    server.faults.clear()
    assert result.version == 1
    commit(made.open(), batch("next"))
    assert made.open().snapshot().transactions == {"once": 1, "next": 1}
    assert log_of(made) == [f"{version:020d}.json" for version in range(3)]


def test_a_lost_answer_and_another_commit_in_between_are_told_apart(make_own: Make, server: UnityServer) -> None:
    made = make_own()

    def overtaken(request: Request) -> Answer | None:
        if not is_update(request):
            return None
        server.faults.clear()
        commit(made.open(), batch("other"))
        return Answer(drop=True)

    table = made.open()
    plan = table.plan(batch("mine"))
    server.faults.append(overtaken)
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", 2)
    assert made.open().snapshot().transactions == {"other": 1, "mine": 1}


def test_a_catalog_that_stays_silent_leaves_the_outcome_unknown_and_the_same_plan_settles_it(
    make_own: Make, server: UnityServer
) -> None:
    made = make_own()
    table = made.open()
    plan = table.plan(batch("mine"))
    server.faults += [_unsaid, lambda request: refused(500, "") if request.method == "GET" else None]
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("unknown", 1)
    server.faults.clear()
    again = table.commit(plan)
    assert (again.outcome, again.version) == ("committed", 1)
    assert made.open().snapshot().transactions == {"mine": 1}


def test_what_is_published_late_is_published_by_the_next_commit(make_own: Make, server: UnityServer) -> None:
    made = make_own()
    table = made.open()
    server.faults.append(
        lambda request: (
            refused(500, "InternalServerErrorException")
            if is_update(request, "set-latest-backfilled-version")
            else None
        )
    )
    result = commit(table, batch("one"))
    assert "not published yet" in result.notes[0]
    server.faults.clear()
    assert commit(table, batch("two")).notes == ()
    assert loaded(made)["commits"] == []


def test_a_refusal_commits_nothing_and_says_why(make_own: Make, server: UnityServer) -> None:
    made = make_own()
    table = made.open()
    server.faults.append(
        lambda request: refused(403, "PermissionDeniedException", "MODIFY is missing") if is_update(request) else None
    )
    with pytest.raises(CatalogError, match="MODIFY is missing") as error:
        table.commit(table.plan(batch("mine")))
    assert (error.value.status, error.value.reason) == (403, "PermissionDeniedException")
    assert staged_of(made) == []
    server.faults.clear()
    assert made.open().latest_version() == 0


def test_a_table_that_took_the_name_gets_no_commit(make_own: Make, server: UnityServer) -> None:
    made, other = make_own(), make_own()
    table = made.open()
    plan = table.plan(batch("mine"))
    tables = server.state.catalogs["main"]["shop"]
    tables[made.name] = tables.pop(other.name)
    with pytest.raises(TableNotFound, match="another table now"):
        table.commit(plan)
    assert tables[made.name].latest == 0


def test_an_entry_that_changed_without_a_commit_is_read_again(make_own: Make, server: UnityServer) -> None:
    made = make_own()
    table = made.open()
    plan = table.plan(ADD_COLUMN)
    server.state.table("main", "shop", made.name).etag += 1
    assert table.commit(plan).version == 1
