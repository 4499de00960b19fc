"""Clients that a plan shuts out, counted by what happens to them."""

from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.transaction.commit_plan import Consequences
from explorer.views.act.plan_view import client_losses, loss_groups, loss_summary, lost_clients, my_summary, plan_view
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import PROTOCOL, commit_info, metadata, write_log
from tests.support.logs.small_plans import plan_with


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (["wrong"], "1 client gets wrong results in its newest release"),
        (["no", "no"], "2 clients lose access in their newest releases"),
        (
            ["unknown", "wrong", "no"],
            "1 client gets wrong results, 1 loses access, 1 is unknown in their newest releases",
        ),
    ],
)
def test_who_loses_what_is_told_apart(after: list[str], words: str) -> None:
    losses = tuple(
        {"client": f"c{n}", "versionFrom": "1", "before": "yes", "after": kind, "newest": True}
        for n, kind in enumerate(after)
    )
    plan = msgspec.structs.replace(plan_with(), consequences=Consequences(readers=losses))
    found = client_losses(plan)
    assert (loss_summary(found, "reads"), loss_summary(found, "writes")) == (words, "no change")


def test_wrong_answers_come_first_and_older_releases_are_apart() -> None:
    def loss(client: str, after: str, first: str, last: str, *, newest: bool) -> dict[str, object]:
        versions = {"versionFrom": first, "versionTo": last, "newest": newest}
        return {"client": client, "before": "yes", "after": after, **versions}

    readers = (
        loss("old", "no", "1", "1", newest=False),
        loss("now", "no", "1", "3", newest=True),
        loss("old", "wrong", "2", "5", newest=False),
        loss("now", "wrong", "3", "3", newest=True),
    )
    plan = msgspec.structs.replace(plan_with(), consequences=Consequences(readers=readers))
    wrong, refused = loss_groups(client_losses(plan))
    assert (wrong.title, refused.title) == ("Wrong results", "Access lost")
    assert [loss.releases for loss in (*wrong.first, *wrong.older)] == ["3 (newest known)", "2 to 5"]
    assert [loss.releases for loss in (*refused.first, *refused.older)] == ["1 to 3 (newest known)", "1"]
    assert [len(group.older) for group in (wrong, refused)] == [1, 1]


def test_the_releases_of_a_loss_are_those_that_the_verdicts_give(tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    table = explorer.open_table(write_log(tmp_path / "t", [created]))
    plan = table.plan({"kind": "enable-feature", "feature": "deletionVectors"})
    known = client_facts().versions
    ended = 0
    for record in at_least_one([*plan.consequences.readers, *plan.consequences.writers]):
        versions = known[str(record["client"])]
        assert versions.index(record["versionFrom"]) <= versions.index(record["versionTo"])
        assert record["newest"] == (versions[-1] == record["versionTo"])
        ended += not record["newest"]
    assert ended, "a release lost access that a later one keeps"


def test_every_count_of_lost_clients_on_a_plan_is_of_clients(tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    table = explorer.open_table(write_log(tmp_path / "t", [created]))
    plan = table.plan({"kind": "enable-feature", "feature": "deletionVectors"})
    found = plan_view(plan, table.snapshot())
    (access,) = (guard for guard in found.guards if guard.name == "access")
    assert access.sentence.lower() == f"{loss_summary(found.losses)}.".lower()
    newest = {loss.client for loss in found.losses if loss.newest}
    numbers = [int(word) for word in access.sentence.partition(";")[0].replace(",", "").split() if word.isdecimal()]
    assert sum(numbers) == len(newest) > 1
    assert lost_clients(found.losses) == len({loss.client for loss in found.losses}) >= len(newest)
    shown = [loss for group in found.loss_groups for loss in (*group.first, *group.older)]
    assert sorted(map(repr, shown)) == sorted(map(repr, found.losses))


def test_a_plan_speaks_of_the_clients_in_use_first_and_counts_each_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clients.toml"
    file.write_text('[[client]]\nname = "deltalake"\nversion = "0.15.1"\nowner = "finance"\n')
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    table = explorer.open_table(write_log(tmp_path / "t", [created]))
    intent = {"kind": "enable-feature", "feature": "deletionVectors"}
    before = plan_view(table.plan(intent), table.snapshot())
    monkeypatch.setenv("DELTA_EXPLORER_CLIENTS", str(file))
    plan = plan_view(table.plan(intent), table.snapshot())
    assert [(loss.mine, loss.owner) for loss in plan.losses[:2]] == [("0.15.1", "finance")] * 2
    assert my_summary(plan.losses) == "your delta-rs (python deltalake) 0.15.1 loses access"
    assert plan.worst.startswith("Your delta-rs (python deltalake) 0.15.1 loses access; ")
    assert (plan.lost_clients, plan.who_reads) == (before.lost_clients, before.who_reads)
    assert plan.worst.lower().endswith(before.worst.lower())
