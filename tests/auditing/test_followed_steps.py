"""The next step of each finding, followed: its command exists and answers, its intent can be planned.

The tables are broken in the ways of many clients; a step that is refused for the cause that its finding names, or for
another one that the table has beside it, is a dead end.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.log.log_path import commit_name
from explorer.storage import open_store
from tests.cli.conftest import Call, cli
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, lines, metadata, remove, write

__all__ = ["cli"]

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
TRANSACTIONS = "delta.setTransactionRetentionDuration"
NEEDS_SPARK: Final = {"rows", "changes", "erasure"}
Actions = list[Any]


def _said(configuration: dict[str, str] | None = None, kind: str = "long") -> dict[str, Any]:
    return {"metaData": metadata({"id": "long", "x": kind}, configuration=configuration).to_wire()}


def _raw(**members: Any) -> dict[str, Any]:
    written = {"path": "f", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True} | members
    return {"add": {name: value for name, value in written.items() if value is not ...}}


VECTOR: Final = {"storageType": "i", "pathOrInlineDv": "!", "sizeInBytes": 4, "cardinality": 1}
MEMBERS: Final = ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")

LOGS: Final[dict[str, list[Actions]]] = {
    "both retentions negative": [[PROTOCOL, _said({FILES: "interval -1 days", LOG: "interval -1 days"}), add("a")]],
    "log negative, files long": [[PROTOCOL, _said({LOG: "interval -1 days", FILES: "interval 90 days"}), add("a")]],
    "log short, files near zero": [[PROTOCOL, _said({LOG: "interval 1 hour", FILES: "interval 1 minute"}), add("a")]],
    "versions at risk": [[PROTOCOL, _said({LOG: "interval 2 hours"}), add("a")], [remove("a"), add("b")]],
    "transactions at once": [[PROTOCOL, _said({TRANSACTIONS: "interval 0 days"}), add("a")]],
    "months": [[PROTOCOL, _said({FILES: "interval 1 month", LOG: "interval 7"}), add("a")]],
    "keys with different case": [[PROTOCOL, _said({"DELTA.APPENDONLY": "true", " delta.appendOnly": "x"}), add("a")]],
    "a rule in double quotes": [[PROTOCOL, _said({"delta.constraints.c": '"id" > 0'}), add("a")]],
    "a rule beside a type": [[PROTOCOL, _said({"delta.constraints.c": "frob(id) > 0"}, "geometry"), add("a")]],
    "an unknown type": [[PROTOCOL, _said(kind="interval day to second"), add("a")]],
    "no size": [[PROTOCOL, METADATA, _raw(size=...)]],
    "no path": [[PROTOCOL, METADATA, _raw(path="")]],
    "values of another type": [[PROTOCOL, METADATA, _raw(tags={"a": [1]})]],
    "an inline vector": [[MASKED, METADATA, _raw(deletionVector=VECTOR)]],
    "two vectors": [[MASKED, METADATA, add("a")], [add("a"), remove("a")]],
    "no schema": [[PROTOCOL, {"metaData": {"id": "x"}}, add("a")]],
    "no protocol": [[METADATA, add("a")]],
    "a column that is gone": [[PROTOCOL, {"metaData": metadata({"id": "long"}, ("gone",)).to_wire()}, add("a")]],
    "a feature of tomorrow": [
        [
            {"protocol": dict(zip(MEMBERS, (3, 7, ["x"], ["x"]), strict=True))},
            METADATA,
        ]
    ],
}  # fmt: skip

TEXTS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "cut off": lambda data: data[:-30],
    "a mark": lambda data: b"\xef\xbb\xbf" + data,
    "nothing but NUL": lambda data: b"\0" * len(data),
    "zero bytes": lambda _: b"",
    "spread": lambda data: b"\n".join(json.dumps(json.loads(line), indent=1).encode() for line in data.splitlines()),
    "wrapped": lambda data: b'{"actions":[' + data.strip().replace(b"\n", b",") + b"]}\n",
    "an array": lambda data: b"[" + data.strip().replace(b"\n", b",") + b"]",
}


def _follow(cli: Call, folder: Path, finding: Finding) -> str:
    """Why the next step of a finding cannot be followed; empty if it can."""
    step = finding.remedy
    if step.intent is not None:
        plan = explorer.open_table(folder).plan(step.intent)
        failed = [guard for guard in plan.guards if guard.status == "fail"]
        return " ".join(f"{finding.rule}: {step.label}: {guard.evidence}" for guard in failed if not guard.remedy)
    program, command, *arguments = shlex.split(step.command)
    if program != "delta-explorer":
        return f"{finding.rule}: {step.command} is not a command of this program"
    if command in NEEDS_SPARK:
        return ""
    result = cli(command, *arguments)
    answered = result.code == 0 or (command == "verify" and result.code in (1, 3) and result.out)
    return "" if answered else f"{finding.rule}: {step.command}: {result.code} {result.err}"


def _dead_ends(cli: Call, folder: Path) -> list[str]:
    table = explorer.open_table(folder).audit(check_files=True, verify=True).findings
    return [why for finding in at_least_one(table) if (why := _follow(cli, folder, finding))]


@pytest.mark.parametrize("name", LOGS)
def test_each_next_step_over_a_broken_table_can_be_followed(cli: Call, tmp_path: Path, name: str) -> None:
    write(open_store(tmp_path), dict(enumerate(LOGS[name])))
    assert _dead_ends(cli, tmp_path) == []


@pytest.mark.parametrize("name", TEXTS)
def test_each_next_step_over_a_broken_text_can_be_followed(cli: Call, tmp_path: Path, name: str) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(commit_name(1), TEXTS[name](lines([add("b"), add("c")])))
    assert _dead_ends(cli, tmp_path) == []


@pytest.mark.parametrize(
    "configuration",
    [
        {FILES: "interval -1 days", LOG: "interval -1 days"},
        {LOG: "interval -1 days", FILES: "interval 90 days"},
        {FILES: "interval 0 days", LOG: "interval 1 day"},
        {TRANSACTIONS: "interval -1 days"},
        {FILES: "interval 1 month"},
    ],
)
def test_the_steps_of_retentions_lead_to_a_table_without_such_findings(
    tmp_path: Path, configuration: dict[str, str]
) -> None:
    """Each step is planned and committed, until none of an error is left; nothing is accepted."""
    write(open_store(tmp_path), {0: (PROTOCOL, _said(configuration), add("a"))})
    for _ in range(4):
        table = explorer.open_table(tmp_path)
        errors = [each for each in table.audit().findings if each.severity == "error" and each.remedy.intent]
        if not errors:
            break
        intent = errors[0].remedy.intent
        assert intent is not None
        assert table.commit(table.plan(intent)).outcome == "committed"
    assert [each.rule for each in explorer.open_table(tmp_path).audit().findings if each.severity == "error"] == []
