"""Schemas: data types, column mapping, identifiers, widening, edits."""
