"""Rows to show: previews, pages, streams of batches, the history of a key.

In: a `DeltaLog`, a version or a range, a predicate or a key, and how many rows to show.
Out: jobs whose results are bounded Arrow tables with a note on their share of the table, or a stream of batches.
Always: the rows shown are a sample and are labeled as one, and counts are exact. No more files are read than needed,
and the driver never receives rows without a bound. Every live row is on exactly one page.

Protocol sections: Deletion Vectors, Per-file Statistics (``numRecords``).
"""
