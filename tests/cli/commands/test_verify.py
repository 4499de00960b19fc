"""``verify`` tells every fault of a log, and by its exit code whether versions cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Format, Metadata
from explorer.storage import open_store
from tests.cli.conftest import Call
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, SCHEMA, add, write_log


def test_verify_is_one_document_with_an_exit_code(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    shutil.copytree(demo_warehouse / "sales/orders", folder)
    sound = cli("verify", folder, "--json")
    document = sound.document()
    assert list(document) == ["table", "firstVersion", "lastVersion", "problems", "chainHead"]
    assert document["problems"] == []
    assert len(document["chainHead"]) == 64
    log = folder / "_delta_log"
    (log / "_commit_5.json.tmp").write_bytes(b"")
    left = cli("verify", folder, "--json")
    assert left.code == 1
    assert json.loads(left.out)["problems"][0]["kind"] == "orphan-file"
    assert list(json.loads(left.out)["problems"][0]) == ["kind", "version", "file", "detail", "nextStep"]
    (log / f"{1:020}.json").unlink()
    broken = cli("verify", folder, "--json")
    assert broken.code == 3
    assert ("gap", 1) in [(each["kind"], each["version"]) for each in json.loads(broken.out)["problems"]]
    assert "orphan-file" in cli("verify", folder).out


def test_a_log_that_no_reader_may_read_is_broken_and_one_that_readers_get_round_is_not(
    cli: Call, tmp_path: Path
) -> None:
    foreign = write_log(tmp_path / "orc", [[PROTOCOL, Metadata(id="m", format=Format("orc"), schema_string=SCHEMA)]])
    assert cli("snapshot", foreign).code == 3
    broken = cli("verify", foreign, "--json")
    assert (broken.code, json.loads(broken.out)["firstVersion"]) == (3, None)
    [problem] = json.loads(broken.out)["problems"]
    assert (problem["kind"], problem["version"], problem["file"]) == ("invalid-metadata", 0, commit_name(0))
    assert "'orc'" in problem["detail"]
    sound = write_log(tmp_path / "sidecars", [[PROTOCOL, METADATA, add("a")], [add("b")]])
    files = write_checkpoint(open_store(sound), 1, [PROTOCOL, METADATA, add("a"), add("b")], "v2-sidecars")
    (sound / next(key for key in files if "_sidecars" in key)).unlink()
    assert cli("snapshot", sound).code == 0
    incomplete = cli("verify", sound, "--json")
    assert (incomplete.code, json.loads(incomplete.out)["firstVersion"]) == (1, 0)
    assert [each["kind"] for each in json.loads(incomplete.out)["problems"]] == ["incomplete-checkpoint"]
