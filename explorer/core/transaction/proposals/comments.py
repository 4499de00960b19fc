"""Comments: the description of a table, and the comments of its columns.

Protocol sections: Change Metadata, Struct Field.
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.edit import (
    replace_field,
    struct_field,
    with_schema,
)
from explorer.core.transaction.intents.records import SetColumnComment, SetDescription
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.entry import proposes_alone
from explorer.core.transaction.proposals.operation_parameters import change_parameters
from explorer.core.versions.snapshot import Snapshot

__all__ = ["PROPOSALS", "set_column_comment", "set_description"]


def set_description(intent: SetDescription, snapshot: Snapshot) -> Proposal:
    """Set or remove the description; the reference writes it as a property named ``comment``."""
    before = snapshot.metadata.description
    text = intent.description or ""
    return Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": msgspec.json.encode({"comment": text}).decode()},
        metadata=msgspec.structs.replace(snapshot.metadata, description=intent.description),
        undo=f"Set the description to {before!r} again." if before else "Remove the description again.",
    )


def set_column_comment(intent: SetColumnComment, snapshot: Snapshot) -> Proposal:
    """Set or remove a column's comment.

    Raises:
        InvalidIntent: There is no such column, or it already has this comment.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    before = field.metadata.get("comment")
    if before == intent.comment:
        raise InvalidIntent(f"The comment of {column.name} is already {before!r}.", field="comment")
    metadata = {key: value for key, value in field.metadata.items() if key != "comment"}
    if intent.comment is not None:
        metadata["comment"] = intent.comment
    after = msgspec.structs.replace(field, metadata=metadata)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, after),
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        undo=f"Set the comment to {before!r} again." if before else "Remove the comment again.",
    )


PROPOSALS: Final = (
    proposes_alone(SetDescription, set_description),
    proposes_alone(SetColumnComment, set_column_comment),
)
"""What the intents of this module propose."""
