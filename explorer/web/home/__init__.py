"""The page of all tables: those that need attention first, what came since the last visit, the list, and what was done.

In: the served tables, read one after another while the page is on the screen.
Out: regions of HTML, as the pages of a table give them.
Always: names are there at once; what is not read yet says so; a table that cannot be read stands among the others.
"""
