"""What a statement of the reference and the same intent here left: rows, feed, row ids, bounds and provenance compared.

Compared are two tables of which one is a copy of the other as it stood before. The layout of files, ids of new rows,
names, sizes and times are not: they are each writer's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

import explorer
from explorer.core.errors import ChangeFeedGap
from explorer.spark.scan.scan import scan
from tests.support.comparison.row_content import content_hash, row_lines

__all__ = ["Lines", "outcome_differences"]

Lines = list[dict[str, Any]]
_OWN: Final = re.compile(r"Bytes|File")
"""Metrics that say how rows are laid out in files."""
_SAME_FILES: Final = frozenset(["numRemovedFiles", "numTargetFilesRemoved", "numRestoredFiles"])


def outcome_differences(
    ours: explorer.Table, theirs: explorer.Table, version: int, lines: tuple[Lines, Lines], content: str | None
) -> dict[str, tuple[Any, Any]]:
    """Where two tables differ after a version that each got by its own writer: part -> (ours, the reference's).

    Args:
        ours: The copy that was written to here.
        theirs: The reference's table.
        version: The version to compare, made from the same version before it.
        lines: What was committed here and there.
        content: The hash of the rows that the reference reads; None to take them from its table.
    """
    parts: dict[str, tuple[Any, Any]] = {
        "rows": (_rows(ours, version), _rows(theirs, version) if content is None else content),
        "feed": (_feed(ours, version), _feed(theirs, version)),
        "row ids": (_row_ids(ours, version), _row_ids(theirs, version)),
        "bounds": _effective(_bounds(lines[0]), _bounds(lines[1])),
        **{name: (say(lines[0]), say(lines[1])) for name, say in _SAID.items()},
        **dict(_provenance(lines[0], lines[1])),
    }
    return {name: both for name, both in parts.items() if both[0] != both[1]}


def _rows(table: explorer.Table, version: int) -> str:
    return content_hash(scan(table, table.snapshot(version)).to_arrow(readable=True))


def _feed(table: explorer.Table, version: int) -> list[str] | str:
    """The changes of a version without the time of its commit, or why there are none to be read."""
    try:
        found = table.changes(version, version).toArrow()
    except ChangeFeedGap as gap:
        return str(sorted(hole["kind"] for hole in gap.holes))
    return sorted(row_lines(found.drop_columns(["_commit_timestamp"])))


def _row_ids(table: explorer.Table, version: int) -> tuple[list[str], list[str], int] | None:
    """Rows from before with their ids and commit versions, new ones with their commit versions, how many ids are new.

    Which of the new ids a new row has goes by the layout of files. None where rows are not tracked.
    """
    if not table.snapshot(version).row_tracking.enabled:
        return None
    mark = table.snapshot(version - 1).row_tracking.high_water_mark
    found = table.rows(version, row_identity=True).toArrow().drop_columns(["_file", "_row_index"])
    old = [number is not None and number <= (-1 if mark is None else mark) for number in found["_row_id"].to_pylist()]
    new = found.filter([not kept for kept in old])
    fresh = len(set(new["_row_id"].to_pylist()))
    return sorted(row_lines(found.filter(old))), sorted(row_lines(new.drop_columns(["_row_id"]))), fresh


def _actions(lines: Lines, kind: str) -> list[dict[str, Any]]:
    return [line[kind] for line in lines if kind in line]


def _bounds(lines: Lines) -> dict[str, Any]:
    """What the added files say together of each column: the lowest and highest value, how many are null; how many rows.

    A part that one file does not state is unknown.
    """
    stats = [json.loads(add["stats"]) if add.get("stats") else {} for add in _actions(lines, "add")]
    found: dict[str, Any] = {"numRecords": _together([each.get("numRecords") for each in stats], sum)}
    known = [each for each in stats if each.get("numRecords") != 0]
    names = {name for each in known for name in _leaves(each.get("nullCount", {}))}
    for name in sorted(names):
        nulls = [_leaves(each.get("nullCount", {})).get(name) for each in known]
        found[f"{name} null"] = _together(nulls, sum)
        holding = [each for each, count in zip(known, nulls, strict=True) if count != each.get("numRecords")]
        for side, pick in (("minValues", min), ("maxValues", max)):
            found[f"{name} {side}"] = _together([_leaves(each.get(side, {})).get(name) for each in holding], pick)
    return found


def _effective(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both, the highest timestamps as their readers take them.

    The reference cuts them off at milliseconds, and who reads them adds one; here they are rounded up.
    """
    for name, value in theirs.items():
        if name.endswith("maxValues") and isinstance(value, str) and isinstance(ours.get(name), str):
            with suppress(ValueError):
                next_up = datetime.fromisoformat(value) + timedelta(milliseconds=1)
                if datetime.fromisoformat(ours[name]) == next_up:
                    theirs = theirs | {name: ours[name]}
    return ours, theirs


def _together(values: list[Any], how: Any) -> Any:
    return None if None in values or not values else how(values)


def _leaves(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{before}{name}"
        found |= _leaves(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


def _removed(lines: Lines) -> list[tuple[str, bool]]:
    return sorted((remove["path"], remove["dataChange"]) for remove in _actions(lines, "remove"))


def _masked(lines: Lines) -> list[tuple[str, int]]:
    """Files that got a vector, with its cardinality."""
    adds = _actions(lines, "add")
    return sorted((add["path"], add["deletionVector"]["cardinality"]) for add in adds if add.get("deletionVector"))


def _added(lines: Lines) -> dict[str, Any]:
    """What the added files are marked with, each mark once."""
    adds = _actions(lines, "add")
    return {
        "dataChange": sorted({add["dataChange"] for add in adds}),
        "partitions": sorted({json.dumps(add["partitionValues"], sort_keys=True) for add in adds}),
        "tight": sorted({json.loads(add["stats"]).get("tightBounds", True) for add in adds if add.get("stats")}),
        "clusteringProvider": sorted({str(add.get("clusteringProvider")) for add in adds}),
        "defaultRowCommitVersion": sorted({str(add.get("defaultRowCommitVersion")) for add in adds}),
    }


def _other_actions(lines: Lines) -> dict[str, int]:
    """The kinds of actions, and how many of those that are not files."""
    kinds = [next(iter(line)) for line in lines]
    return {kind: 0 if kind in ("add", "remove", "cdc") else kinds.count(kind) for kind in sorted(set(kinds))}


_SAID: Final = {
    "removed files": _removed,
    "masked rows": _masked,
    "added files": _added,
    "actions": _other_actions,
}


def _provenance(ours: Lines, theirs: Lines) -> Iterator[tuple[str, tuple[Any, Any]]]:
    infos = [_actions(lines, "commitInfo")[0] for lines in (ours, theirs)]
    for name in ("operation", "isolationLevel", "isBlindAppend", "tags"):
        yield name, (infos[0].get(name), infos[1].get(name))
    parameters = [_parameters(info.get("operationParameters", {})) for info in infos]
    yield from _pairs("parameter", parameters[0], parameters[1])
    metrics = [_metrics(info.get("operationMetrics", {})) for info in infos]
    yield from _pairs("metric", metrics[0], metrics[1])


def _pairs(kind: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterable[tuple[str, tuple[Any, Any]]]:
    return ((f"{kind} {name}", (ours.get(name), theirs.get(name))) for name in sorted({*ours, *theirs}))


def _parameters(found: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters; of conditions only that there are some, as each writer spells them its own way."""
    return {name: bool(value) if "redicate" in name else value for name, value in found.items()}


def _metrics(found: Mapping[str, str]) -> dict[str, str]:
    """The metrics, of those about files only that they are there, and none about times, which are not recorded here."""
    counted = {name: value for name, value in found.items() if not name.endswith("TimeMs")}
    return {name: "" if _OWN.search(name) and name not in _SAME_FILES else value for name, value in counted.items()}
