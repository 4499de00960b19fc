"""The names of all tables that a page can show, and how a text of a few letters is ranked against them.

In: the snapshots of tables, as far as they were read, and what a person typed. Out: matches, the best first, counted.
Invariants: nothing is read here; a table that is not served is in no answer, whatever is known of it.
"""
