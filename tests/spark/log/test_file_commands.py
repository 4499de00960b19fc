"""``snapshot``, ``files`` and ``statistics`` with the log replayed by Spark: the same answers as in one process."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from explorer.cli.app import run
from explorer.core.protocol import limits
from tests.support.shared_tables import reference_root

pytestmark = [
    pytest.mark.spark,
    pytest.mark.reference,
    pytest.mark.usefixtures("spark_engine"),
    pytest.mark.sampled(tests=3),
]

# Where the tests' Spark runs, so that the command takes the one that does.
HERE = os.environ.get("DELTA_EXPLORER_SPARK") or "local[*]"


def _lines(capfd: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run([*arguments, "--json"]) == 0, capfd.readouterr().err
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return sorted(lines, key=lambda line: (line.get("path", ""), line.get("column", "")))


@pytest.mark.parametrize(
    "asked",
    [
        ["files"],
        ["files", "--where", "id > 3 AND p = 1"],
        ["statistics"],
        ["statistics", "--column", "p", "--column", "id"],
        ["snapshot"],
    ],
)
def test_the_answers_are_those_of_one_process_and_past_the_limit_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    table = str(reference_root() / "tables" / "optimize")
    command, *options = asked
    local = _lines(capfd, command, table, *options)
    assert local
    with monkeypatch.context() as small:
        small.setattr(limits, "MAX_CHECKPOINT_BYTES", 1)
        assert _lines(capfd, command, table, *options, "--spark", HERE) == local
