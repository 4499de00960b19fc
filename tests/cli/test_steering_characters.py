"""Characters of a table that would steer a terminal, in JSON that is printed to one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explorer.cli.app import app
from explorer.cli.output import encode
from tests.support.logs import small_logs

STEERING = "\x1b[31m\x7f\x9b31m\x85\u061c\u200e\u202e\u2066\u2028\ufeff"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@pytest.mark.parametrize("command", ["history", "files", "snapshot", "columns", "statistics", "blame", "audit"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_output_steers_the_terminal(command: str, options: list[str], tmp_path: Path) -> None:
    described = small_logs.metadata({f"c{STEERING}": "string"}, (), {STEERING: STEERING}, comment=STEERING)
    info = small_logs.commit_info(STEERING, user_name=STEERING, operation_parameters={STEERING: STEERING})
    added = small_logs.add("a\u202e\x9bb.parquet", 1, bounds={f"c{STEERING}": (STEERING, STEERING)})
    table = small_logs.write_log(tmp_path / "t", [[info, small_logs.PROTOCOL, described], [info, added]])
    outcome = CliRunner().invoke(app, [command, str(table), *options])
    assert outcome.exit_code == 0, outcome.output
    assert OBEYED.search(outcome.output) is None


def test_json_keeps_every_character() -> None:
    text = encode({STEERING: STEERING, "é": "日本"})
    assert json.loads(text) == {STEERING: STEERING, "é": "日本"}
    assert "日本" in text.decode()
