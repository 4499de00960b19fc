"""The marks up to which identity columns have given values.

Protocol section: Identity Columns. Invariant: a mark lies in the schema, but the rows move it: what differs in marks
alone is the same schema to a person.
"""

from __future__ import annotations

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_PREFIX

__all__ = ["schema_without_marks"]


def schema_without_marks(text: str | None) -> str | None:
    """A schema's text without identity marks; one that cannot be read stays as it is."""
    if text is None or IDENTITY_PREFIX not in text:
        return text
    try:
        schema = parse_schema(text)
    except ExplorerError:
        return text
    fields = []
    for field in schema.fields:
        kept = {key: value for key, value in field.metadata.items() if key != IDENTITY_HIGH_WATER_MARK}
        fields.append(msgspec.structs.replace(field, metadata=kept))
    return StructType(tuple(fields)).to_json()
