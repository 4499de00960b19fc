"""The search for the tables below a root: breadth-first, many folders at once, ending at each table.

In: a root, which is a folder of this machine, a URL of a store, or whatever lists its folders as a `FolderTree`.
Out: the tables as they are found, by their paths below the root, and the folders that cannot be listed, each with why.
Always: a folder that cannot be listed ends nothing but itself. No folder inside a table is listed, and none whose name
begins with ``_`` or ``.``. A search that was ended goes on where it was.
"""
