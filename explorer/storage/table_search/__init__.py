"""The search for the tables below a root: breadth-first, many folders at once, ending at each table.

Invariants: a folder that cannot be listed ends nothing but itself; no folder inside a table is listed; folders whose
names begin with ``_`` or ``.`` are skipped.
"""
