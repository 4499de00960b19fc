"""Proposals that change files, or what the log says of them, and no row.

In: the version, its files, and the files that replace them.
Out: a `Proposal` whose adds and removes are no data change.
Always: what a reader sees before and after is the same, and so are row ids where rows are tracked.

Protocol sections: Add File and Remove File (``dataChange``), Row Tracking.
"""
