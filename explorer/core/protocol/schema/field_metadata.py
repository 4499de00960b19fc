"""Keys in the metadata of a column that the protocol defines: each is written here and nowhere else.

Protocol sections: Column Mapping, Type Change Metadata, Generated Columns, Identity Columns, Default Columns, Column
Invariants. Invariant: a key is the text in ``schemaString``; any other key is free.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "delta."
"""Prefix of the protocol's keys; the keys below that lack it are the protocol's too."""

COLUMN_MAPPING_PREFIX: Final = "delta.columnMapping."
PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
FIELD_ID: Final = "delta.columnMapping.id"
NESTED_IDS: Final = "delta.columnMapping.nested.ids"

TYPE_CHANGES: Final = "delta.typeChanges"
GENERATION_EXPRESSION: Final = "delta.generationExpression"
INVARIANTS: Final = "delta.invariants"

IDENTITY_PREFIX: Final = "delta.identity."
IDENTITY_START: Final = "delta.identity.start"
IDENTITY_STEP: Final = "delta.identity.step"
IDENTITY_HIGH_WATER_MARK: Final = "delta.identity.highWaterMark"
IDENTITY_ALLOW_EXPLICIT_INSERT: Final = "delta.identity.allowExplicitInsert"

CURRENT_DEFAULT: Final = "CURRENT_DEFAULT"
EXISTS_DEFAULT: Final = "EXISTS_DEFAULT"

COLLATIONS: Final = "__COLLATIONS"
"""The collations by which texts of the column are compared: a path in the column -> provider, name and version."""
CHAR_VARCHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""The CHAR or VARCHAR type of a column that is stored as a string."""
