"""The schema of a table: types, and the identity that column mapping gives to columns.

In: ``schemaString`` and column paths as a caller writes them.
Out: `StructType` trees, Arrow types, physical paths, edited schemas and their JSON.
Always: a schema is a value and is never changed in place. Unknown field metadata stays with its field. Names match
without regard to case and keep their own spelling; the parts ``element``, ``key`` and ``value`` lead into nested types.
A physical name or an id, once assigned, never changes.

Protocol sections: Schema Serialization Format, Column Mapping, Type Widening.
"""
