"""Tables as bare logs, written line by line as the protocol says: the widget reads no data file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

Action = dict[str, Any]


def write_log(table: Path, commits: Sequence[Sequence[Action]]) -> Path:
    """Write one commit file for each list of actions and return the table's folder."""
    log = table / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(commits):
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")
    return table


def protocol(reader: int = 1, writer: int = 2) -> Action:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}


def metadata(
    fields: dict[str, str], partition_columns: Sequence[str] = (), configuration: dict[str, str] | None = None
) -> Action:
    columns = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()]
    return {
        "metaData": {
            "id": "5d1c6a3e-8f43-4c69-8a53-1d7f0ab0c0de",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": columns}),
            "partitionColumns": list(partition_columns),
            "configuration": configuration or {},
            "createdTime": 1_700_000_000_000,
        }
    }


def add(path: str, rows: int | None = 10, size: int = 1_000, partition: dict[str, str] | None = None) -> Action:
    return {
        "add": {
            "path": path,
            "partitionValues": partition or {},
            "size": size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": None if rows is None else json.dumps({"numRecords": rows}),
        }
    }


def remove(path: str) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True}}


def commit_info(**fields: Any) -> Action:
    return {"commitInfo": {"timestamp": 1_700_000_000_000, **fields}}


class Elements(HTMLParser):
    """The elements, attributes and text of a piece of HTML, as a browser would take them apart."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(str(markup))  # slices of Markup would be Markup, and escape what is joined to them
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data
