"""A table's log read the plain way, for the notebooks' numbers: JSON lines, replayed file by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

__all__ = ["WrittenLog"]

Action = dict[str, Any]


class WrittenLog:
    """The commits of a table whose log is whole from version 0 on.

    Attributes:
        commits: The lines of each version.
        live: The ``add`` in force of each path, after each version.
    """

    def __init__(self, table: Path) -> None:
        files = sorted((table / "_delta_log").glob(f"{'[0-9]' * 20}.json"))
        self.commits = [[json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in files]
        assert [int(file.stem) for file in files] == list(range(len(files)))
        self.live: list[dict[str, Action]] = []
        live: dict[str, Action] = {}
        for commit in self.commits:
            for line in commit:
                if "remove" in line:
                    live.pop(line["remove"]["path"], None)
            live = live | {line["add"]["path"]: line["add"] for line in commit if "add" in line}
            self.live.append(dict(live))
        assert {add["path"] for add in self.live[-1].values()} == set(_paths(table))

    def info(self, version: int) -> Action:
        """Who committed a version, and what."""
        found: Action = next(line["commitInfo"] for line in self.commits[version] if "commitInfo" in line)
        return found

    def made_by(self, operation: str) -> list[int]:
        """The versions of an operation."""
        return [version for version in range(len(self.commits)) if self.info(version)["operation"] == operation]

    def hidden(self, version: int) -> int:
        """Rows that deletion vectors hide at a version."""
        return sum(cardinality(add) for add in self.live[version].values())

    def names(self, version: int) -> dict[str, str]:
        """Physical name -> logical name of the columns at a version."""
        schema = next(
            line["metaData"]["schemaString"]
            for commit in reversed(self.commits[: version + 1])
            for line in commit
            if "metaData" in line
        )
        mapped = "delta.columnMapping.physicalName"
        return {field["metadata"].get(mapped, field["name"]): field["name"] for field in json.loads(schema)["fields"]}


def cardinality(add: Action) -> int:
    """Rows of a file that its deletion vector hides."""
    return int((add.get("deletionVector") or {"cardinality": 0})["cardinality"])


def _paths(table: Path) -> list[str]:
    """The live files, as another reader lists them."""
    adds = DeltaTable(table).get_add_actions()
    return [str(path) for path in adds.column("path").to_pylist()]
