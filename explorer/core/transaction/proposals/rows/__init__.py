"""Proposals that add, change or remove rows.

In: the version, what the engine matched or wrote, and `Circumstances`.
Out: a `Proposal` whose adds, removes and masks are data change.
Always: the rows that a commit leaves are those that its intent names, and what the change feed, row tracking and
identity columns need is in the same commit.

Protocol sections: Add File and Remove File, Add CDC File, Deletion Vectors, Row Tracking, Identity Columns.
"""
