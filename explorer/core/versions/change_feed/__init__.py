"""The change data feed: the files with the changes of a range of versions.

In: the `LogStore`, the listing and the `History` of a table, and a range of versions.
Out: `ChangeSources`: change files, added and removed files, and exchanged deletion vectors, as tables that Spark can
read; or the gaps, each with its version and reason.
Always: a version with change files is read from these alone. A range that cannot be read in full is refused, unless its
caller chooses to infer or skip, and then the result names the inferred or skipped versions. The same file before and
after a version is not a change.

Protocol sections: Add CDC File (Reader Requirements), Deletion Vectors, Column Mapping.
"""
