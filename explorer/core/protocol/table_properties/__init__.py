"""Table properties: the keys, their values, and the allowed values of each.

In: the ``configuration`` of a metaData action, or a new value for a property.
Out: typed values with their defaults; rows of `registry` with type, range and effect. The feature that a property
enables is in the rows of `explorer.core.protocol.table_features`.
Always: `registry` alone spells a key and its default. An unknown key is preserved. A known key with a value that
cannot be read is an error that names it, never the default.

Protocol sections: Change Metadata (configuration), and the sections of the features that properties switch on.
"""
