"""Every intent that makes sense on a table, as JSON, and the undo that a plan states, as intents to carry it out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from explorer.core.transaction.proposals.features import DROPPABLE
from explorer.core.versions.snapshot import Snapshot
from tests.support.logs.raw_log import RawState

__all__ = ["NO_UNDO", "plain_intents", "row_intents", "undo_intents"]

Document = dict[str, Any]

_FEATURES: Final = (
    "allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "clustering", "columnMapping",
    "deletionVectors", "domainMetadata", "generatedColumns", "identityColumns", "inCommitTimestamp", "invariants",
    "rowTracking", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck", "variantType",
)  # fmt: skip
_WIDER: Final = {"byte": "short", "short": "integer", "integer": "long", "float": "double", "date": "timestamp_ntz"}


def plain_intents(snapshot: Snapshot, raw: RawState) -> Iterator[Document]:
    """Each intent that needs no engine of rows, in several forms."""
    fields = snapshot.schema.fields
    first, last = fields[0].name, fields[-1].name
    yield {"kind": "set-description", "description": "what it is"}
    yield {"kind": "set-column-comment", "column": first, "comment": "a comment"}
    for properties in (
        {"delta.checkpointInterval": "7", "team": "a;b"},
        {"delta.enableInCommitTimestamps": "true"},
        {"delta.enableInCommitTimestamps": "false"},
        {"delta.enableChangeDataFeed": "true"},
        {"delta.enableChangeDataFeed": "false"},
        {"delta.enableRowTracking": "true"},
        {"delta.enableDeletionVectors": "true"},
        {"delta.deletedFileRetentionDuration": "interval 2 days"},
        {"delta.checkpointPolicy": "v2"},
        {"delta.enableTypeWidening": "true"},
    ):
        yield {"kind": "set-properties", "properties": properties}
    for key in raw.configuration:
        yield {"kind": "unset-properties", "keys": [key]}
        if key.startswith("delta.constraints."):
            yield {"kind": "drop-constraint", "name": key.removeprefix("delta.constraints.")}
    yield {"kind": "add-constraint", "name": "small", "expression": f"`{first}` IS NULL OR TRUE"}
    for name in {first, last}:
        yield {"kind": "set-not-null", "column": f"`{name}`"}
        yield {"kind": "drop-not-null", "column": f"`{name}`"}
        yield {"kind": "drop-columns", "columns": [f"`{name}`"]}
        yield {"kind": "rename-column", "column": f"`{name}`", "to": "renamed"}
    yield {"kind": "add-columns", "fields": [{"name": "extra", "type": "integer"}], "at": "first"}
    yield {"kind": "add-columns", "fields": [{"name": "moment", "type": "timestamp_ntz"}]}
    yield {"kind": "move-column", "column": f"`{last}`", "at": "first"}
    for field in fields:
        if (wider := _WIDER.get(getattr(field.type, "name", ""))) is not None:
            yield {"kind": "widen-type", "column": f"`{field.name}`", "type": wider}
    for mode in ("name", "none"):
        yield {"kind": "set-column-mapping", "mode": mode}
    for reader, writer in ((1, 4), (2, 5), (3, 7)):
        yield {"kind": "upgrade-protocol", "minReaderVersion": reader, "minWriterVersion": writer}
    yield from ({"kind": "enable-feature", "feature": name} for name in _FEATURES)
    yield from ({"kind": "drop-feature", "feature": name} for name in sorted(DROPPABLE & raw.features))
    yield {"kind": "set-domain", "domain": "team.audit", "configuration": "{}"}
    yield from ({"kind": "remove-domain", "domain": name} for name in raw.domains)
    yield {"kind": "set-transaction", "appId": "loader", "version": 7}
    yield from ({"kind": "sync-identity", "column": field.name} for field in fields)
    for version in range(snapshot.version, -1, -1):
        yield {"kind": "restore", "version": version}
    yield {"kind": "checkpoint"}
    yield {"kind": "compact-log", "from": max(0, snapshot.version - 2), "to": snapshot.version}
    yield {"kind": "clean-log"}
    yield {"kind": "vacuum"}


def row_intents(snapshot: Snapshot, source: str) -> Iterator[Document]:
    """Each intent that needs an engine of rows."""
    first = f"`{snapshot.schema.fields[0].name}`"
    yield {"kind": "append", "source": source}
    yield {"kind": "overwrite", "source": source}
    yield {"kind": "overwrite", "source": source, "where": f"{first} IS NOT NULL"}
    yield {"kind": "delete", "where": f"{first} IS NOT NULL"}
    yield {"kind": "update", "where": f"{first} IS NOT NULL", "set": {first: first}}
    yield {
        "kind": "merge",
        "source": source,
        "on": f"target.{first} = source.{first}",
        "matched": [{"delete": True}],
        "notMatched": [{"insert": "*"}],
    }
    yield {"kind": "optimize"}
    yield {"kind": "optimize", "zOrderBy": [first]}
    yield {"kind": "purge"}
    yield {"kind": "recompute-statistics"}


NO_UNDO: Final = (
    "Going back to none rewrites every file", "cannot be taken back", "A mark does not go back",
    "It cannot be undone", "There is nothing to undo", "Nothing changes", "Nothing is done", "It repeats what",
    "Only a backup", "The protocol stays raised", "Nothing is written.", "checkpointProtection stays",
)  # fmt: skip
"""How plans begin to say that nothing takes them back."""


def undo_intents(text: str, before: RawState) -> list[Document]:
    """The intents that an undo names, in the order in which they are carried out; none where nothing takes it back.

    Args:
        text: The undo that a plan states.
        before: The version before the plan.
    """
    found: list[Document] = []
    if "(set-column-mapping)" in text:
        found.append({"kind": "set-column-mapping", "mode": "name"})
    if match := re.match(r"Restore version (\d+)", text):
        first = re.search(r"Set (\S+) to '(\w+)' first", text)
        found += [] if first is None else [{"kind": "set-properties", "properties": {first[1]: first[2]}}]
        return [*found, {"kind": "restore", "version": int(match[1])}]
    if re.search(r"restoring an earlier version gives|Restore an earlier version", text):
        return [{"kind": "restore", "version": before.version}]
    for pattern, make in _FORMS:
        found += [make(match) for match in re.finditer(pattern, text, re.DOTALL)]
    return found


_FORMS: Final = (
    (r"Drop the constraint '(.+?)'\.", lambda m: {"kind": "drop-constraint", "name": m[1]}),
    (
        r"Add the constraint '(.+?)' again with the expression (.+), as long",
        lambda m: {"kind": "add-constraint", "name": m[1], "expression": m[2]},
    ),
    (r"Allow nulls in (.+?) again", lambda m: {"kind": "drop-not-null", "column": m[1]}),
    (r"Require values in (.+?) again", lambda m: {"kind": "set-not-null", "column": m[1]}),
    (r"Drop (.+?) again \(drop-columns\)", lambda m: {"kind": "drop-columns", "columns": m[1].split(", ")}),
    (r"Rename (.+?) to (.+?) again", lambda m: {"kind": "rename-column", "column": m[1], "to": m[2].strip("`")}),
    (r"Move it back: (.+?)\.", lambda m: {"kind": "move-column", "at": m[1]}),
    (r"[Rr]emove the description", lambda _: {"kind": "set-description", "description": None}),
    (r"[Ss]et the description to '(.*?)'", lambda m: {"kind": "set-description", "description": m[1]}),
    (r"Remove the comment again", lambda _: {"kind": "set-column-comment", "comment": None}),
    (r"Set the comment to '(.*?)' again", lambda m: {"kind": "set-column-comment", "comment": m[1]}),
    (r"[Ss]et (\S+?) to '(.*?)'", lambda m: {"kind": "set-properties", "properties": {m[1]: m[2]}}),
    (r"[Uu]nset (.+?)(?:;|\.(?:\s|$))", lambda m: {"kind": "unset-properties", "keys": m[1].split(", ")}),
    (r"Remove the domain '(.+?)'", lambda m: {"kind": "remove-domain", "domain": m[1]}),
    (r"Set it to '(.*?)' again", lambda m: {"kind": "set-domain", "configuration": m[1]}),
    (
        r"Set the domain '(.+?)' to '(.*?)' again",
        lambda m: {"kind": "set-domain", "domain": m[1], "configuration": m[2]},
    ),
    (r"Switch column mapping to name again", lambda _: {"kind": "set-column-mapping", "mode": "name"}),
)
