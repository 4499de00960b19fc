"""Spark itself: Java, the session, jobs, failures, and how Spark spells the address of a file.

In: a request for the session, or work to run as a job.
Out: a `SparkSession`, a `Job`, a `FileAddress`, a typed error for whatever Spark raises.
Always: one session for the process, started at the first request and started again if its JVM dies. A job ends once,
and a cancelled one within a second, even if Spark does not answer. Nothing is written to stdout, and the environment of
the process is the same afterwards.
"""
