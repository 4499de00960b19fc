"""A proof as JSON: the document of ``delta-explorer erasure``.

Invariants: it ends with a digest, SHA-256 of the rest as JSON with sorted keys and no spaces.
"""

from __future__ import annotations

import hashlib

import msgspec

from explorer.auditing.erasure.proof import Erasure, Place, Step
from explorer.auditing.erasure.traces import Trace
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.versions.commit_times import moment
from explorer.credentials import safe_path, without_credentials

__all__ = ["erasure_document"]


def erasure_document(proof: Erasure) -> JsonObject:
    """Return a proof as JSON: table, version, where, time, places, totals, files, traces, read, notAnswered,
    wrongStatistics, notRead, elsewhere, goneFrom, mayClaimErased, why, steps, digest."""
    document = _unsealed(proof)
    return {**document, "digest": hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()}


def _unsealed(proof: Erasure) -> JsonObject:
    read = proof.basis.found.read
    return {
        "table": proof.basis.table,
        "version": proof.version,
        "where": proof.where,
        "time": _time(proof.basis.now),
        "places": [_place(place) for place in proof.places],
        "totals": _totals(proof),
        "files": len({place.path for place in proof.places}),
        "traces": [_trace(trace) for trace in proof.traces],
        "read": {
            "files": read.num_rows,
            "rows": sum(read.column("rows").to_pylist()),
            "logFiles": proof.log_files,
            "goneFiles": proof.basis.stored.gone,
        },
        "notAnswered": [
            {"path": safe_path(each.path), "reason": without_credentials(each.reason)} for each in proof.not_answered
        ],
        "wrongStatistics": list(proof.misleading),
        "notRead": list(map(without_credentials, proof.outside)),
        "elsewhere": [
            {
                "table": each.table,
                "sharedFiles": each.shared_files,
                "columns": list(each.columns),
                "problem": each.problem or None,
            }
            for each in proof.elsewhere
        ],
        "goneFrom": _time(proof.gone_from),
        "mayClaimErased": not proof.obstacles,
        "why": list(proof.obstacles),
        "steps": [_step(step) for step in proof.steps],
    }


def _time(time: int | None) -> str | None:
    return None if time is None else moment(time).isoformat()


def _totals(proof: Erasure) -> JsonObject:
    return {str(state): rows for state, rows in proof.totals.items()}


def _place(place: Place) -> JsonValue:
    return {
        "path": safe_path(place.path),
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
        "path": safe_path(trace.path),
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
        "feedRows": step.feed_rows,
    }
