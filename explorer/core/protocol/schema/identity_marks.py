"""The high-water marks of identity columns.

Protocol section: Identity Columns. Invariant: a mark is in the schema, but writing rows moves it: schemas that differ
only in marks count as the same.
"""

from __future__ import annotations

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_PREFIX

__all__ = ["schema_without_marks"]


def schema_without_marks(text: str | None) -> str | None:
    """Return a schema's text without identity marks; one that cannot be read stays as it is."""
    if text is None or IDENTITY_PREFIX not in text:
        return text
    try:
        schema = parse_schema(text)
    except ExplorerError:
        return text
    fields = []
    for field in schema.fields:
        metadata = {key: value for key, value in field.metadata.items() if key != IDENTITY_HIGH_WATER_MARK}
        fields.append(msgspec.structs.replace(field, metadata=metadata))
    return StructType(tuple(fields)).to_json()
