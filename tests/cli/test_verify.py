"""``verify`` tells every fault of a log, and by its exit code whether versions cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Call


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
    assert list(json.loads(left.out)["problems"][0]) == ["kind", "version", "file", "detail"]
    (log / f"{1:020}.json").unlink()
    broken = cli("verify", folder, "--json")
    assert broken.code == 3
    assert ("gap", 1) in [(each["kind"], each["version"]) for each in json.loads(broken.out)["problems"]]
    assert "orphan-file" in cli("verify", folder).out
