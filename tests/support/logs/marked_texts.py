"""A table in which every text that a log can hold is markup that names the field it is in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import quote

import msgspec

from explorer.core.protocol.actions import Action, CheckpointMetadata, DeletionVectorDescriptor, Format, Sidecar
from tests.support.logs.small_logs import LONG_AGO, write_log

__all__ = ["IN_TEXTS", "PLAIN", "mark", "marked_table", "text_fields"]

PLAIN: Final = frozenset(
    {
        # Refused unless they are as the protocol wants them.
        "add.deletionVector.storageType", "remove.deletionVector.storageType", "metaData.format.provider",
        "protocol.readerFeatures",
        # Texts of JSON, whose parts are IN_TEXTS.
        "metaData.schemaString", "add.stats", "remove.stats",
    }
)  # fmt: skip
"""Fields that hold no markup themselves."""
IN_TEXTS: Final = frozenset(
    {
        "schema.column", "schema.comment", "schema.metadata.key", "schema.metadata.value", "schema.default",
        "stats.min", "stats.max", "constraint.name", "constraint.text",
    }
)  # fmt: skip
"""Texts inside of other texts."""
_IN_CHECKPOINTS: Final = (CheckpointMetadata, Sidecar)


def mark(field: str) -> str:
    """The markup of a field: an element with a handler, whose text names the field."""
    return f"<b onx=1>{field};'\""


def text_fields() -> set[str]:
    """Every text of the actions of commits, by the names on the wire; of a map its keys and its values."""
    kinds = [kind for kind in get_args(Action) if kind not in _IN_CHECKPOINTS]
    return {found for kind in kinds for found in _texts(kind, kind.wire_name)}


def _texts(kind: type, prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(kind):
        name, stated = f"{prefix}.{field.encode_name}", str(field.type)
        of_its_own = [
            each for each in (Format, DeletionVectorDescriptor) if each in (field.type, *get_args(field.type))
        ]
        if of_its_own:
            yield from _texts(of_its_own[0], name)
        elif "dict[" in stated:
            yield from (f"{name}.key", f"{name}.value")
        elif "str" in stated:
            yield name


def marked_table(folder: Path) -> Path:
    """Write the table: what is created, a file with a vector, and its removal."""
    column, part = mark("schema.column"), mark("metaData.partitionColumns")
    carried = {
        "comment": mark("schema.comment"),
        mark("schema.metadata.key"): mark("schema.metadata.value"),
        "CURRENT_DEFAULT": mark("schema.default"),
    }
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": carried if name == column else {}}
        for name in (column, part, "plain")
    ]
    described = {
        "id": mark("metaData.id"),
        "name": mark("metaData.name"),
        "description": mark("metaData.description"),
        "format": {"provider": "parquet", "options": _pair("metaData.format.options")},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [part],
        "configuration": {
            **_pair("metaData.configuration"),
            f"delta.constraints.{mark('constraint.name')}": mark("constraint.text"),
        },
        "createdTime": LONG_AGO,
        **_pair("metaData.unknown"),
    }
    demands = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", mark("protocol.writerFeatures")],
        **_pair("protocol.unknown"),
    }
    created = [
        {"commitInfo": _info()},
        {"protocol": demands},
        {"metaData": described},
        {"txn": {"appId": mark("txn.appId"), "version": 1, **_pair("txn.unknown")}},
        {
            "domainMetadata": {
                "domain": mark("domainMetadata.domain"),
                "configuration": mark("domainMetadata.configuration"),
                "removed": False,
                **_pair("domainMetadata.unknown"),
            }
        },
    ]
    changes = {"cdc": {**_file("cdc", part), "dataChange": False}}
    added = {"add": {**_file("add", part), **_of_add(column), "modificationTime": LONG_AGO, "dataChange": True}}
    other = {"add": {**_file("remove", part), "modificationTime": LONG_AGO, "dataChange": True, "tags": {}}}
    removed = {"remove": {**_file("remove", part), "deletionTimestamp": LONG_AGO, "dataChange": True}}
    other["add"].pop(mark("remove.unknown.key"))
    return write_log(
        folder, [created, [{"commitInfo": _info()}, added, other], [{"commitInfo": _info()}, removed, changes]]
    )


def _info() -> dict[str, Any]:
    names = ("operation", "userId", "userName", "userMetadata", "engineInfo", "isolationLevel", "txnId")
    return {
        "timestamp": LONG_AGO,
        **{name: mark(f"commitInfo.{name}") for name in names},
        **{name: _pair(f"commitInfo.{name}") for name in ("operationParameters", "operationMetrics")},
        **_pair("commitInfo.unknown"),
    }


def _file(kind: str, part: str) -> dict[str, Any]:
    # The key of a partition value is that of its column; another one is a value of no column.
    values = {part: mark(f"{kind}.partitionValues.value"), mark(f"{kind}.partitionValues.key"): "x"}
    found = {
        "path": f"{quote(mark(f'{kind}.path'))}.parquet",
        "partitionValues": values,
        "size": 100,
        "tags": _pair(f"{kind}.tags"),
        **_pair(f"{kind}.unknown"),
    }
    return found if kind == "cdc" else found | {"deletionVector": _vector(kind)}


def _of_add(column: str) -> dict[str, Any]:
    bounds = {"minValues": {column: mark("stats.min")}, "maxValues": {column: mark("stats.max") + "z"}}
    stats = {"numRecords": 3, "nullCount": {column: 0}, **bounds}
    return {"stats": json.dumps(stats), "clusteringProvider": mark("add.clusteringProvider")}


def _pair(field: str) -> dict[str, Any]:
    return {mark(f"{field}.key"): mark(f"{field}.value")}


def _vector(kind: str) -> dict[str, Any]:
    place = f"file:///{quote(mark(f'{kind}.deletionVector.pathOrInlineDv'))}"
    return {"storageType": "p", "pathOrInlineDv": place, "offset": 1, "sizeInBytes": 34, "cardinality": 1}
