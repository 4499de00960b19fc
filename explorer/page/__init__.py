"""The page of a table: everything that a person sees and presses, in a browser or in a notebook.

In: a table's view, an address, and the messages of the page's script.
Out: regions of HTML, two figures, and the messages that put them into their places.
Always: nothing here knows Panel, a notebook or a browser: a page asks its `Host`. What is drawn is a function of the
address and the table; a tab is a module, a template and a line in ``tabs``.
"""
