"""The names of all tables that a page can show, and how a few letters are ranked against them.

In: the snapshots of tables, as far as they were read, and what a person typed.
Out: the names that match, the best first, counted.
Always: nothing is read here; a table that is not served is in no answer, whatever is known of it.
"""
