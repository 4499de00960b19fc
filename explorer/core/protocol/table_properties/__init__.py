"""Table properties: the keys, their values, and what each may be set to.

In: the ``configuration`` of a metaData action, or what a person wants to set.
Out: typed values with their defaults; rows of `registry` with type, range and effect. Which feature a property
switches on, the rows of `explorer.core.protocol.table_features` say.
Always: `registry` alone spells a key and its default. An unknown key is kept. A known key with a value that cannot be
read is an error that names it, never the default.

Protocol sections: Change Metadata (configuration), and the sections of the features that properties switch on.
"""
