"""Identity columns: the high-water mark is moved to the values in the rows.

Protocol section: Identity Columns. Invariants: the mark is the start plus a multiple of the step and only moves in the
direction of the step (IDENT-004, IDENT-008); explicit values do not raise it by themselves, so this is a commit of its
own (D-32); it depends on the rows, so rows added in between are a conflict.
"""

from __future__ import annotations

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import StructField
from explorer.core.protocol.schema.edit import Column, replace_field, struct_field, with_schema
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.intents.fields import IDENTITY_KEYS
from explorer.core.transaction.intents.records import SyncIdentity
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.entry import change_parameters
from explorer.core.versions.snapshot import Snapshot

_LEAST, _GREATEST = -(2**63), 2**63 - 1


class IdentityRule(msgspec.Struct, frozen=True):
    """How an identity column counts: its first value, its step, and the furthest value made so far if any was."""

    start: int
    step: int
    mark: int | None
    explicit: bool

    def next_on_lattice(self, value: int) -> int | None:
        """Return the first value at or beyond one, in the direction of the step; None if that is before the start."""
        if (value - self.start) * self.step < 0:
            return None
        return self.start - (self.start - value) // self.step * self.step

    @property
    def is_mark_reached(self) -> bool:
        """True if some number of steps leads from the start to the mark, or there is no mark yet (IDENT-008)."""
        return self.mark is None or (self.mark - self.start) % self.step == 0

    def is_beyond(self, value: int) -> bool:
        """Return True if a value is further in the direction of the step than any made so far."""
        if self.mark is None:
            return True
        return value > self.mark if self.step > 0 else value < self.mark


def identity_rule(column: str, field: StructField, place: str = "column") -> IdentityRule:
    """Return how a column counts; ``place`` is the intent's field that an error names if it is not an identity column.

    Raises:
        InvalidIntent: It is not an identity column, or its metadata contradicts itself.
    """
    start, step, explicit = (field.metadata.get(key) for key in IDENTITY_KEYS)
    if start is None and step is None:
        raise InvalidIntent(f"{column} is not an identity column.", field=place)
    mark = field.metadata.get(IDENTITY_HIGH_WATER_MARK)
    numbers = (start, step) if mark is None else (start, step, mark)
    is_whole = all(isinstance(value, int) and not isinstance(value, bool) for value in numbers)
    if not is_whole or step == 0:
        raise InvalidIntent(
            f"The identity metadata of {column} cannot be used: start {start!r}, step {step!r}, mark {mark!r} "
            "(IDENT-001).",
            field=place,
        )
    assert isinstance(start, int)
    assert isinstance(step, int)
    assert isinstance(mark, int | None)
    return IdentityRule(start, step, mark, explicit is True)


def recorded_extreme(snapshot: Snapshot, column: str) -> tuple[bool, int | None]:
    """Return the furthest value of an identity column, if the statistics of all files give it exactly.

    Returns:
        Whether they do, and the value; None if there is none.

    Raises:
        InvalidIntent: There is no such column, or it is not an identity column.
    """
    identity, field = struct_field(snapshot.schema, column)
    rule = identity_rule(identity.name, field)
    ranges = snapshot.column_ranges(identity.name)
    name = "max" if rule.step > 0 else "min"
    rows = zip(*(ranges.column(key).to_pylist() for key in (name, "null_count", "num_records", "tight")), strict=True)
    values: list[int] = []
    for value, nulls, records, tight in rows:
        if tight and records is not None and records == nulls:
            continue
        if not tight or value is None:
            return False, None
        values.append(value)
    if not values:
        return True, None
    return True, max(values) if rule.step > 0 else min(values)


def counts_up(snapshot: Snapshot, column: str) -> bool:
    """Return True if the furthest value of an identity column is its greatest one, and not its least.

    Raises:
        InvalidIntent: There is no such column, or it is not an identity column.
    """
    identity, field = struct_field(snapshot.schema, column)
    return identity_rule(identity.name, field).step > 0


def sync_identity(intent: SyncIdentity, snapshot: Snapshot, extreme: int | None) -> Proposal:
    """Move a column's mark to the furthest value in the table.

    Args:
        extreme: The greatest value of the column in this version, the least if its step is negative; None if it has
            none. `recorded_extreme` gives it if the statistics do, else Spark must find it.

    Raises:
        InvalidIntent: There is no such column, or it is not an identity column.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    rule = identity_rule(column.name, field)
    target = None if extreme is None else rule.next_on_lattice(extreme)
    moved = target is not None and rule.is_beyond(target)
    metadata = {**field.metadata, IDENTITY_HIGH_WATER_MARK: target} if moved else field.metadata
    after = msgspec.structs.replace(field, metadata=metadata)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, field),
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        # The reference recognises such a commit by it when it conflicts with one of its own.
        tags={IDENTITY_TAG: "true"},
        is_blind_append=False,
        reads_files=True,
        guards=(_guard(column, rule, extreme, target if moved else None),),
        undo="A mark does not go back; skipped values stay unused.",
    )


def _guard(column: Column, rule: IdentityRule, extreme: int | None, target: int | None) -> GuardResult:
    evidence: dict[str, object] = {
        "column": column.name,
        "start": rule.start,
        "step": rule.step,
        "highWaterMark": rule.mark,
        "furthest value": extreme,
    }
    if target is None:
        detail = "No value is beyond the mark: the commit would change nothing."
        return GuardResult("identity-mark", "fail", evidence | {"detail": detail}, "There is nothing to do.")
    if not _LEAST <= target + rule.step <= _GREATEST:
        detail = f"The mark would be {target}, and no value of the type long is left beyond it (IDENT-006)."
        return GuardResult("identity-mark", "fail", evidence | {"detail": detail}, "Drop the column and add it again.")
    detail = f"The mark moves to {target}; the next value made is {target + rule.step}."
    return GuardResult("identity-mark", "pass", evidence | {"new mark": target, "detail": detail})
