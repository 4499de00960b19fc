"""The statements of the reference tables that write rows, each as an intent of this program and the rows it is given.

A statement that no intent can express has none, and the reason in `UNSAID`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.support.clients.golden_expectations import expected
from tests.support.clients.reference_changes import changing_intent
from tests.support.clients.reference_steps import Step

__all__ = ["COMMANDS", "UNSAID", "DataCommand", "Source", "data_commands"]

_TABLE: Final = r"delta\.`<TABLE>`"
_BY_CLOCK: Final = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
_FRAME: Final = r"spark\.(?:createDataFrame|sql)\((?:.*?)\)\.write"

COMMANDS: Final = {
    "INSERT INTO": rf"INSERT INTO {_TABLE} .*",
    "INSERT OVERWRITE": rf"INSERT OVERWRITE {_TABLE} .*",
    "appending frames": rf"{_FRAME}(?:\.format\('delta'\)\.mode\('append'\).*|To\(.*\)\.append\(\))",
    "overwriting frames": rf"{_FRAME}(?:\.format\('delta'\)\.mode\('overwrite'\).*|To\(.*\)\.overwrite\(.*\))",
    "DELETE, TRUNCATE": rf"(?:DELETE FROM|TRUNCATE TABLE) {_TABLE}.*",
    "UPDATE": rf"UPDATE {_TABLE} .*",
    "MERGE": rf"MERGE (?:WITH SCHEMA EVOLUTION )?INTO {_TABLE} .*",
    "OPTIMIZE": rf"OPTIMIZE {_TABLE}.*|DeltaTable\.forPath\(spark, path\)\.optimize\(\).*",
    "REORG": rf"REORG TABLE {_TABLE} .*",
    "RESTORE": rf"RESTORE TABLE {_TABLE} .*",
}
"""Each command, and what its statements look like."""

_COLUMNS_REPLACED: Final = "No intent replaces the columns or the partitioning of a table together with its rows."
UNSAID: Final = {
    "ctas-and-replace#20": _COLUMNS_REPLACED,
    "replace-where#8": _COLUMNS_REPLACED,
    "schema-changes#42": _COLUMNS_REPLACED,
    "schema-changes#43": _COLUMNS_REPLACED,
    "default-columns#10": "DEFAULT among values is a word of the statement; rows that an intent is given leave the "
    "column out, all of them or none.",
    "replace-where#14": "The reference refuses PARTITION with a column that is no partition column; an overwrite names "
    "its rows by a condition over any column.",
    "schema-changes#34": "PySpark itself refuses to make the frame; the table is not asked.",
    "schema-changes#36": "The reference refuses a frame that is partitioned otherwise than the table; an append does "
    "not say how the table is partitioned.",
}
"""Statements that no intent can express, and why."""


class Source(msgspec.Struct, frozen=True):
    """The rows of a statement.

    Attributes:
        query: A query; None where the rows are given.
        columns: The columns that the statement names; None for those of the table or of the query itself.
        by_position: The columns of the query go by their place, not by their names.
        rows: The rows, where there is no query, and their schema.
    """

    query: str | None = None
    columns: tuple[str, ...] | None = None
    by_position: bool = False
    rows: tuple[list[Any], str] | None = None


class DataCommand(msgspec.Struct, frozen=True):
    """A statement.

    Attributes:
        command: Its command, a key of `COMMANDS`.
        step: The statement with the intent, an empty one if none can express it.
        source: Its rows; None if it has none.
        lost: The version before it, or the one that it made, can no longer be read.
    """

    command: str
    step: Step
    source: Source | None
    lost: bool


def data_commands(root: Path) -> Iterator[DataCommand]:
    """Every statement of every reference table that writes rows, refused ones included."""
    for name, record in sorted(expected(root).items()):
        latest = -1
        settings: dict[str, str] = {}
        gone = {version["version"] for version in record["versions"] if _is_gone(version)}
        for number, said in enumerate(json.loads((root / "steps" / f"{name}.json").read_text("utf-8"))):
            text, version = said.get("sql") or said["python"], said["version"]
            _set(settings, text)
            before, latest = latest, latest if version is None else version
            command = next((key for key, form in COMMANDS.items() if re.fullmatch(form, text, re.DOTALL)), None)
            if command is None:
                continue
            intent, source = ({}, None) if f"{name}#{number}" in UNSAID else _said(text, settings)
            # Of a statement that the reference followed by commits of its own it is the statement's that is compared.
            made = None if version is None else min(said.get("versions", [version]))
            step = Step(name, number, before, made, text, intent, said.get("error"))
            yield DataCommand(command, step, source, lost=before in gone or made in gone)


def _is_gone(version: Mapping[str, Any]) -> bool:
    """The reference cannot open a version, for another reason than that its log has grown old since."""
    return "error" in version and version["error"].get("condition") != _BY_CLOCK


def _set(settings: dict[str, str], text: str) -> None:
    """Note a setting of the session that holds for the statements after it."""
    if (found := re.fullmatch(r"SET (\S+?)=(\S+)", text)) is not None:
        settings[found[1]] = found[2]
    elif (found := re.fullmatch(r"RESET (\S+)", text)) is not None:
        settings.pop(found[1], None)


def _said(text: str, settings: Mapping[str, str]) -> tuple[dict[str, Any], Source | None]:
    """The intent that says the same, and the rows."""
    for say in (_inserted, _framed, _optimized, _other):
        found = say(text, settings)
        if found is not None:
            return found
    intent, query = changing_intent(text)
    if intent["kind"] == "merge" and settings.get("spark.databricks.delta.schema.autoMerge.enabled") == "true":
        intent["mergeSchema"] = True
    return intent, None if query is None else Source(query)


_INSERT: Final = re.compile(
    rf"INSERT (INTO|OVERWRITE) {_TABLE} (?:\(([^()]*)\) )?(?:REPLACE WHERE (.*?) )?((?:VALUES|SELECT)\b.*)", re.DOTALL
)


def _inserted(text: str, settings: Mapping[str, str]) -> tuple[dict[str, Any], Source] | None:
    if (found := _INSERT.fullmatch(text)) is None:
        return None
    intent: dict[str, Any] = {"kind": "append", "source": "rows"}
    if found[3] is not None:
        intent = {"kind": "overwrite", "source": "rows", "where": found[3]}
    elif found[1] == "OVERWRITE":
        dynamic = settings.get("spark.sql.sources.partitionOverwriteMode") == "dynamic"
        intent = {"kind": "overwrite", "source": "rows"} | ({"partitions": True} if dynamic else {})
    columns = None if found[2] is None else tuple(name.strip(" `") for name in found[2].split(","))
    return intent, Source(found[4], columns, by_position=True)


_OPTIONS: Final = {"replaceWhere": "where", "txnAppId": "txnAppId", "txnVersion": "txnVersion"}


def _framed(text: str, _settings: Mapping[str, str]) -> tuple[dict[str, Any], Source] | None:
    found = re.fullmatch(r"spark\.(createDataFrame|sql)\((.*?)\)\.write(.*)", text)
    if found is None:
        return None
    given = ast.literal_eval(f"({found[2]})")
    source = Source(given) if found[1] == "sql" else Source(rows=given)
    options = dict(re.findall(r"\.option\('(\w+)', ?'(.*?)'\)", found[3]))
    intent: dict[str, Any] = {"kind": "append" if "append" in found[3] else "overwrite", "source": "rows"}
    intent |= {name: options[option] for option, name in _OPTIONS.items() if option in options}
    if "txnVersion" in intent:
        intent["txnVersion"] = int(intent["txnVersion"])
    if options.get("mergeSchema") == "true":
        intent["mergeSchema"] = True
    if options.get("partitionOverwriteMode") == "dynamic":
        intent["partitions"] = True
    return intent, source


_OPTIMIZE: Final = re.compile(rf"OPTIMIZE {_TABLE}(?: FULL)?(?: WHERE (.*?))?(?: ZORDER BY \((.*)\))?")
_OPTIMIZE_CALLED: Final = re.compile(
    r"DeltaTable\.forPath\(spark, path\)\.optimize\(\)(?:\.where\('(.*)'\))?"
    r"\.execute(?:Compaction|ZOrderBy)\((?:'(.*)')?\)"
)


def _optimized(text: str, _settings: Mapping[str, str]) -> tuple[dict[str, Any], None] | None:
    found = _OPTIMIZE.fullmatch(text) or _OPTIMIZE_CALLED.fullmatch(text)
    if found is None:
        return None
    where = {} if found[1] is None else {"where": found[1]}
    order = {} if found[2] is None else {"zOrderBy": found[2].split(", ")}
    return {"kind": "optimize", **where, **order}, None


_OTHERS: Final = {
    rf"DELETE FROM {_TABLE}(?: WHERE (.*))?": lambda found: {"kind": "delete", "where": found[1] or "true"},
    rf"TRUNCATE TABLE {_TABLE}": lambda _: {"kind": "delete", "where": "true"},
    rf"REORG TABLE {_TABLE} APPLY \(PURGE\)": lambda _: {"kind": "purge"},
    rf"RESTORE TABLE {_TABLE} TO VERSION AS OF (\d+)": lambda found: {"kind": "restore", "version": int(found[1])},
}


def _other(text: str, _settings: Mapping[str, str]) -> tuple[dict[str, Any], None] | None:
    for form, make in _OTHERS.items():
        if (found := re.fullmatch(form, text, re.DOTALL)) is not None:
            return make(found), None
    return None
