"""The process that Spark forks its Python workers from, with the packages loaded that each of them would load.

A worker that nobody needs ends after a minute, so that a run of the tests has a hundred of them. The program itself is
not among the packages: workers have it as `explorer.spark.map_tables` sends it.
"""

import pandas  # noqa: F401  # as below: loaded for the workers
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
