"""A proof as JSON: the document of ``delta-explorer erasure``, and the statement that may be handed on.

Invariants: both end with a digest, SHA-256 of the rest as JSON with sorted keys and no spaces; the statement names
every file that was read with its rows and the digest of its footer, and claims nothing that is not in it.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from explorer.auditing.erasure.proof import Erasure, Place, Step
from explorer.auditing.erasure.traces import Trace
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.versions.commit_times import moment

__all__ = ["erasure_document", "statement_document"]

_FOOTER_DIGEST: Final = "SHA-256 of the Parquet footer: its thrift bytes, their length and the closing magic"


def erasure_document(found: Erasure) -> JsonObject:
    """Return a proof as JSON: table, version, where, time, places, totals, files, traces, read, notAnswered, notRead,
    goneFrom, mayClaimErased, why, steps, digest."""
    return _sealed(_unsealed(found))


def _unsealed(found: Erasure) -> JsonObject:
    read = found.basis.found.read
    return {
        "table": found.basis.table,
        "version": found.version,
        "where": found.where,
        "time": _time(found.basis.now),
        "places": [_place(place) for place in found.places],
        "totals": _totals(found),
        "files": len({place.path for place in found.places}),
        "traces": [_trace(trace) for trace in found.traces],
        "read": {
            "files": read.num_rows,
            "rows": sum(read.column("rows").to_pylist()),
            "logFiles": found.log_files,
            "goneFiles": found.basis.stored.gone,
        },
        "notAnswered": [{"path": each.path, "reason": each.reason} for each in found.not_answered],
        "notRead": list(found.not_read),
        "goneFrom": _time(found.gone_from),
        "mayClaimErased": not found.obstacles,
        "why": list(found.obstacles),
        "steps": [_step(step) for step in found.steps],
    }


def statement_document(found: Erasure) -> JsonObject:
    """Return the statement as JSON."""
    read = found.basis.found.read
    files = zip(*(read.column(name).to_pylist() for name in ("key", "rows", "digest")), strict=True)
    document: JsonObject = {
        "statement": "erasure",
        "table": found.basis.table,
        "tableId": found.basis.table_id,
        "version": found.version,
        "where": found.where,
        "time": _time(found.basis.now),
        "program": f"delta-table-explorer {found.basis.program}",
        "chainHead": found.basis.chain_head,
        "totals": _totals(found),
        "traces": len(found.traces),
        "read": {
            "digest": _FOOTER_DIGEST,
            "files": [{"path": key, "rows": rows, "sha256": digest} for key, rows, digest in sorted(files)],
            "logFiles": found.log_files,
        },
        "notAnswered": [{"path": each.path, "reason": each.reason} for each in found.not_answered],
        "notRead": list(found.not_read),
        "erased": not found.obstacles,
        "why": list(found.obstacles) or ["No stored file that was read holds a matching row, and none was left out."],
        "proof": erasure_document(found)["digest"],
    }
    return _sealed(document)


def _sealed(document: JsonObject) -> JsonObject:
    return {**document, "digest": hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()}


def _time(time: int | None) -> str | None:
    return None if time is None else moment(time).isoformat()


def _totals(found: Erasure) -> JsonObject:
    return {str(state): rows for state, rows in found.totals.items()}


def _place(place: Place) -> JsonValue:
    return {
        "path": place.path,
        "state": place.state,
        "rows": place.rows,
        "size": place.size,
        "fromVersion": place.from_version,
        "toVersion": place.to_version,
        "goneFrom": _time(place.gone_from),
        "keptBy": place.kept_by or None,
    }


def _trace(trace: Trace) -> JsonValue:
    return {
        "path": trace.path,
        "version": trace.version,
        "what": trace.what,
        "column": trace.column or None,
        "value": trace.value,
        "count": trace.count,
        "goneFrom": _time(trace.gone_from),
    }


def _step(step: Step) -> JsonValue:
    return {
        "intent": step.intent,
        "command": step.command,
        "notBefore": _time(step.not_before),
        "why": step.why,
    }
