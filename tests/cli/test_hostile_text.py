"""Strings from tables are text, whatever they hold: no markup, no terminal escapes, no forged lines."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Call

EVIL = (
    "[red]x[/red][link=file:///etc/passwd]y[/link]\x1b[31mred\x1b]0;title\x07\r\nError: forged\u202etxt\u2028\x00:boom:"
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    log = tmp_path / "host[i]le" / "_delta_log"
    log.mkdir(parents=True)
    field = {"name": EVIL, "type": "string", "nullable": True, "metadata": {}}
    metadata = {
        "id": EVIL,
        "name": EVIL,
        "description": EVIL,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field, {**field, "name": "p"}]}),
        "partitionColumns": ["p"],
        "configuration": {EVIL: EVIL},
    }
    stats = {"numRecords": 1, "minValues": {EVIL: EVIL}, "maxValues": {EVIL: EVIL}, "nullCount": {EVIL: 0}}
    add = {
        "path": "a%0Ab[red]%1B[31m.parquet",
        "partitionValues": {"p": EVIL},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": json.dumps(stats),
    }
    info = {"operation": EVIL, "userName": EVIL, "engineInfo": EVIL, "userMetadata": EVIL, "timestamp": 1}
    first = [
        {"commitInfo": {**info, "operationParameters": {EVIL: EVIL}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
        {"txn": {"appId": EVIL, "version": 1}},
    ]
    for version, lines in enumerate((first, [{"add": add}])):
        file = log / f"{version:020}.json"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(file, ns=(info["timestamp"] * 1_000_000,) * 2)
    return log.parent


CALLS = [
    ("snapshot",),
    ("columns",),
    ("files",),
    ("statistics",),
    ("history",),
    ("diff", "0", "1"),
    ("deletion-vectors",),
]


@pytest.mark.parametrize("call", CALLS)
def test_text_for_people_steers_no_terminal(call: tuple[str, ...], hostile: Path, cli: Call) -> None:
    result = cli(call[0], hostile, *call[1:])
    assert (result.code, result.err) == (0, "")
    assert not {"\x1b", "\x07", "\x00", "\r", "\u202e", "\u2028"} & set(result.out)
    assert not any(line.startswith("Error: forged") for line in result.out.splitlines())


def test_markup_is_shown_as_it_stands(hostile: Path, cli: Call) -> None:
    assert "[red]x[/red][link=file:///etc/passwd]y[/link]" in cli("snapshot", hostile).out
    assert ":boom:" in cli("snapshot", hostile).out


@pytest.mark.parametrize("call", CALLS)
def test_json_lines_stay_lines_and_keep_the_text(call: tuple[str, ...], hostile: Path, cli: Call) -> None:
    result = cli(call[0], hostile, *call[1:], "--json")
    assert bool(result.out) is (call[0] != "deletion-vectors")  # no file masks a row
    assert "\x1b" not in result.out
    if call[0] == "snapshot":
        assert json.loads(result.out)["metadata"]["description"] == EVIL


def test_error_messages_steer_no_terminal(hostile: Path, cli: Call) -> None:
    result = cli("statistics", hostile, "--column", "\x1b[31mno\nError: forged")
    assert result.code == 2
    assert "\x1b" not in result.err
    assert result.err.count("\n") == 1
