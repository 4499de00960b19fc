"""Many tables at once: the facts by which a list of them is filtered, and their commits on one axis of time.

In: the facts of each table that was read; tables that were not, or cannot be, by name alone.
Out: facets with exact counts; lanes of commits, losses, silences, and what is to come.
Always: a table whose facts are unknown matches no facet but that of its folder, and is counted as unknown.
"""
