"""Spark itself: Java, session, jobs, failures, addresses of files."""
