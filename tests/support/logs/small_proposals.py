"""Proposals of small tables, for tests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Action, Metadata, Protocol
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals import propose
from tests.support.logs import small_logs

_numbers = itertools.count()


def circumstances() -> Circumstances:
    """A fixed clock, and identifiers that are never the same."""
    return Circumstances(now=1_700_000_000_000, new_id=lambda: f"{next(_numbers):08d}-0000-4000-8000-000000000000")


def protocol(reader: int, writer: int, *, r: str | None = None, w: str | None = None) -> Protocol:
    """A protocol with its features in a line."""
    lists = [None if names is None else tuple(names.split()) for names in (r, w)]
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=lists[0], writer_features=lists[1]
    )


def snapshot(
    *actions: Action | bytes,
    rules: Protocol = small_logs.PROTOCOL,
    properties: dict[str, str] | None = None,
    schema: str = small_logs.SCHEMA,
) -> explorer.Snapshot:
    """Version 0 of a table with these actions."""
    metadata: Metadata = msgspec.structs.replace(
        small_logs.METADATA, configuration=properties or {}, schema_string=schema, unknown={"kept": {"by": "all"}}
    )
    first: Iterable[Action | bytes] = (rules, metadata, *actions)
    return small_logs.table({0: first}).snapshot()


def proposal(before: explorer.Snapshot, kind: str, **fields: Any) -> Proposal:
    """What an intent makes of a version."""
    return propose(parse_intent({"kind": kind, **fields}), before, circumstances())


def refused(before: explorer.Snapshot, kind: str, **fields: Any) -> InvalidIntent:
    """Why an intent makes nothing of a version."""
    with pytest.raises(InvalidIntent) as caught:
        proposal(before, kind, **fields)
    return caught.value


def change(**more: Any) -> Proposal:
    """A proposal that says nothing but what is given."""
    return Proposal(**{"operation": "CHANGE", "parameters": {}, **more})


def setting(properties: dict[str, str]) -> Proposal:
    """A proposal of metadata with these properties."""
    return change(metadata=msgspec.structs.replace(small_logs.METADATA, configuration=properties))


def compact(value: object) -> str:
    """JSON without spaces, as parameters of operations have it."""
    return json.dumps(value, separators=(",", ":"))
