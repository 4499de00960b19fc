"""The tables that pages show, as a host opens them.

In: a table's log, and names in addresses.
Out: facts that are the same object until the log has another newest commit, and how far a first reading is.
Always: a table is opened once for all windows; a person who waits for its log sees how far it is, and can end it.
"""
