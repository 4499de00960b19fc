"""The marks up to which identity columns have given values.

Protocol section: Identity Columns. Invariant: a mark lies in the schema, but the rows move it: what differs in marks
alone is the same schema to a person.
"""

from __future__ import annotations

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_PREFIX

__all__ = ["without_marks"]


def without_marks(metadata: Metadata) -> Metadata:
    """The same metadata without identity marks; a schema that cannot be read stays as it is."""
    text = metadata.schema_string
    if text is None or IDENTITY_PREFIX not in text:
        return metadata
    try:
        schema = parse_schema(text)
    except ExplorerError:
        return metadata
    fields = []
    for field in schema.fields:
        kept = {key: value for key, value in field.metadata.items() if key != IDENTITY_HIGH_WATER_MARK}
        fields.append(msgspec.structs.replace(field, metadata=kept))
    return msgspec.structs.replace(metadata, schema_string=StructType(tuple(fields)).to_json())
