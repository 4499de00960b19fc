"""Tripwires: rules of a person's own over new commits, read from a file, and tried on history before they are set.

In: the text of a TOML file; the history of a table.
Out: the tripwires; an `Alarm` for each commit, or silence, that trips one.
Always: a rule that cannot be understood is an error that names its line and field, and none is ever left out; a number
that the log does not say trips nothing.
"""
