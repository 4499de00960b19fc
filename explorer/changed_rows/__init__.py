"""Rows that changed, read in this process: the changes of a small range, and the rows in which two versions differ.

In: the sources of changes or of a difference, by the log.
Out: the rows and counts that Spark gives, or why only Spark can read them.
Always: it starts no JVM, and reads no range in part: what takes more than its budget is left to Spark as a whole. What
was read, by Spark or here, is in one form.

Protocol sections: Add CDC File (Reader Requirements), Deletion Vectors, Row Tracking.
"""
