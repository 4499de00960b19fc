"""Rows to show: previews, pages, streams of batches, the history of a key.

In: a `DeltaLog`, a version or a range, a predicate or a key, and how many rows to show.
Out: jobs whose results are bounded Arrow tables with a note on their share of the whole, or a stream of batches.
Always: what is shown is a sample and says so, and what is counted is exact. No more files are read than are needed, and
the driver never receives rows without a bound. Every live row is on exactly one page.

Protocol sections: Deletion Vectors, Per-file Statistics (``numRecords``).
"""
