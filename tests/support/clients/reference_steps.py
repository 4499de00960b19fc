"""The commands that the reference writer was given, as intents, and the table as it stood before each one.

To cover another kind of intent add a pattern to ``_PATTERNS``, for columns and new tables to `reference_columns`; a
step that no pattern matches is not compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.support.clients.reference_columns import column_intent

__all__ = ["Step", "copy_before", "reference_commit", "steps"]

_VERSION: Final = re.compile(r"(\d{20})\.")


class Step(msgspec.Struct, frozen=True):
    """One command.

    Attributes:
        table: The reference table.
        number: Its place in the table's list of steps, from 0.
        before: The version that it found; -1 for none.
        version: The last version that it committed; None if it committed nothing.
        text: The command.
        intent: The same as an intent.
        error: What the reference refused it with.
    """

    table: str
    number: int
    before: int
    version: int | None
    text: str
    intent: dict[str, Any]
    error: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """How the step is called in tests and in the table of differences."""
        return f"{self.table}#{self.number}"


def steps(root: Path) -> Iterator[Step]:
    """Every step of every table that an intent can express.

    Of a command that made several commits it is the last one that is compared: the others prepare it.
    """
    for path in sorted((root / "steps").glob("*.json")):
        latest = -1
        for number, step in enumerate(json.loads(path.read_text())):
            text, version, error = step.get("sql") or step["python"], step["version"], step.get("error")
            intent = _intent(text)
            if intent is not None and not text.startswith("CREATE OR REPLACE"):
                committed = version if error is None else None
                before = latest if committed is None else committed - 1
                # Where version 0 was cleaned up, what it wrote is not known.
                if committed == 0 and not (root / "tables" / path.stem / "_delta_log" / f"{0:020d}.json").exists():
                    continue
                yield Step(path.stem, number, before, committed, text, intent, error)
            latest = latest if version is None else version


def copy_before(root: Path, step: Step, folder: Path, *, with_data: bool = False) -> Path:
    """Copy a table as it stood before a step; data files come along as links where asked for."""
    source, target = root / "tables" / step.table, folder / step.table
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        in_log = inside.parts[0] == "_delta_log"
        if not path.is_file() or path.name == "_last_checkpoint" or not (in_log or with_data):
            continue
        # A compaction names its last version too.
        named = _VERSION.findall(path.name) if in_log else []
        if all(int(version) <= step.before for version in named):
            place = target / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
            os.chmod(place, 0o644)
    return target


def reference_commit(root: Path, step: Step) -> list[dict[str, Any]]:
    """The lines that the reference committed."""
    path = root / "tables" / step.table / "_delta_log" / f"{step.version:020d}.json"
    return [json.loads(line) for line in path.read_text().splitlines()]


def _intent(text: str) -> dict[str, Any] | None:
    for pattern, make in _PATTERNS:
        match = pattern.fullmatch(text.strip())
        if match is not None:
            return make(match)
    return column_intent(text.strip())


def _sql_text(quoted: str) -> str:
    return quoted.replace("''", "'")


def _name(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


_TEXT: Final = r"'((?:[^']|'')*)'"


def _pairs(text: str) -> dict[str, str]:
    return {_sql_text(key): _sql_text(value) for key, value in re.findall(rf"{_TEXT}\s*=\s*{_TEXT}", text)}


def _description(match: re.Match[str]) -> dict[str, Any]:
    return {"kind": "set-description", "description": None if match[1] == "NULL" else _sql_text(match[1][1:-1])}


_TABLE: Final = r"delta\.`<TABLE>`"
_ALTER: Final = rf"ALTER TABLE {_TABLE} "
_PYTHON: Final = r"DeltaTable\.forPath\(spark, path\)\."


def _pattern(text: str, make: Callable[[re.Match[str]], dict[str, Any]]) -> tuple[re.Pattern[str], Any]:
    return re.compile(text, re.DOTALL), make


_PATTERNS: Final = [
    _pattern(_ALTER + r"SET TBLPROPERTIES \((.*)\)", lambda m: {"kind": "set-properties", "properties": _pairs(m[1])}),
    _pattern(
        _ALTER + r"UNSET TBLPROPERTIES (?:IF EXISTS )?\((.*)\)",
        lambda m: {"kind": "unset-properties", "keys": [_sql_text(key) for key in re.findall(_TEXT, m[1])]},
    ),
    _pattern(rf"COMMENT ON TABLE {_TABLE} IS (NULL|{_TEXT})", _description),
    _pattern(
        _ALTER + r"ADD CONSTRAINT (`[^`]*`|\w+) CHECK \((.*)\)",
        lambda m: {"kind": "add-constraint", "name": _name(m[1]), "expression": m[2]},
    ),
    _pattern(
        _ALTER + r"DROP CONSTRAINT (?:IF EXISTS )?(`[^`]*`|\w+)",
        lambda m: {"kind": "drop-constraint", "name": _name(m[1])},
    ),
    _pattern(
        _ALTER + r"DROP FEATURE (`[^`]*`|\w+)(?: TRUNCATE HISTORY)?",
        lambda m: {"kind": "drop-feature", "feature": _name(m[1])},
    ),
    _pattern(rf"RESTORE TABLE {_TABLE} TO VERSION AS OF (\d+)", lambda m: {"kind": "restore", "version": int(m[1])}),
    _pattern(_PYTHON + r"dropFeatureSupport\('(.*)'\)", lambda m: {"kind": "drop-feature", "feature": m[1]}),
    _pattern(
        _PYTHON + r"addFeatureSupport\('(.*)'\)",
        lambda m: {"kind": "set-properties", "properties": {f"delta.feature.{m[1]}": "supported"}},
    ),
    _pattern(
        _PYTHON + r"upgradeTableProtocol\((\d), (\d)\)",
        lambda m: {"kind": "upgrade-protocol", "minReaderVersion": int(m[1]), "minWriterVersion": int(m[2])},
    ),
]
