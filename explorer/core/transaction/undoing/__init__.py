"""From a commit to what undoes it: its exact inverse where there is one, else a restore of the version before it.

In: the small actions of the log, and the lines of the commit.
Out: an `Undo`: intents that are planned and guarded like any other, and the later commits that a restore undoes too.
Always: nothing is planned or written here; an inverse is offered only where the table still is as the commit left it.

Protocol section: Requirements for Writers.
"""
