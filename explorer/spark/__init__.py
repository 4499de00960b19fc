"""Row data through Spark: the only package that imports PySpark.

Nothing here runs when a table is opened: `explorer.table` imports `explorer.spark.scan.scan` inside the call that asks
for rows, and the engine starts at the first request.
"""
