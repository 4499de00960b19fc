"""Clients that a plan shuts out, counted by what happens to them."""

from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.transaction.commit_plan import Consequences
from explorer.views.act.client_losses import client_losses, loss_summary, lost_versions, my_summary
from explorer.views.act.plan_view import plan_view
from tests.support.small_logs import PROTOCOL, commit_info, metadata, write_log
from tests.support.small_plans import plan_with


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (["wrong"], "1 client version answers wrongly"),
        (["no", "no"], "2 client versions lose access"),
        (["unknown", "wrong", "no"], "1 client version answers wrongly, 1 loses access, 1 is unknown"),
    ],
)
def test_who_loses_what_is_told_apart(after: list[str], words: str) -> None:
    losses = tuple(
        {"client": f"c{n}", "versionFrom": "1", "before": "yes", "after": kind} for n, kind in enumerate(after)
    )
    plan = msgspec.structs.replace(plan_with(), consequences=Consequences(readers=losses))
    found = client_losses(plan)
    assert (loss_summary(found, "reads"), loss_summary(found, "writes")) == (words, "no change")


def test_every_count_of_lost_clients_on_a_plan_is_of_client_versions(tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})]
    table = explorer.open_table(write_log(tmp_path / "t", [created]))
    plan = table.plan({"kind": "enable-feature", "feature": "deletionVectors"})
    found = plan_view(plan, table.snapshot())
    (access,) = (guard for guard in found.guards if guard.name == "access")
    assert access.sentence.startswith(f"{found.lost_versions} client versions ")
    assert len(found.losses) > found.lost_versions > 1
    for operation, told in (("reads", found.who_reads), ("writes", found.who_writes)):
        mine = [loss for loss in found.losses if loss.operation == operation]
        numbers = [int(word) for word in told.replace(",", "").split() if word.isdecimal()]
        assert sum(numbers) == lost_versions(mine)


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
    found = plan_view(table.plan(intent), table.snapshot())
    assert [(loss.mine, loss.owner) for loss in found.losses[:2]] == [("0.15.1", "finance")] * 2
    assert my_summary(found.losses) == "your delta-rs (python deltalake) 0.15.1 loses access"
    assert found.worst.startswith("Your delta-rs (python deltalake) 0.15.1 loses access; ")
    assert (found.lost_versions, found.who_reads) == (before.lost_versions, before.who_reads)
    assert found.worst.endswith(before.worst)
