"""delta-spark with the Spark connector of Unity Catalog as a racer: it appends rows to a table by its name.

``python -m tests.prove.racers.connected_racer uc://CATALOG.SCHEMA.TABLE NAME COMMITS OPTIONS``, as of
`tests.prove.racers.racer`; with 0 commits it prints how many rows it reads. ``UNITY_CATALOG_CONNECTOR`` has the
connector, parts of it separated by commas: jars, or coordinates such as
``io.unitycatalog:unitycatalog-spark_4.2_2.13:0.7.0``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from pyspark.sql import SparkSession

from tests.support.clients.reference_writer_process import coordinates

_ROWS = 3


def main() -> None:
    """Race."""
    location, name, commits, _ = sys.argv[1:5]
    table = location.removeprefix("uc://")
    with tempfile.TemporaryDirectory() as folder:
        session = _session(table.partition(".")[0], folder)
        session.sql(f"SELECT count(*) FROM {table}").collect()
        print(json.dumps({"ready": name}), flush=True)
        sys.stdin.readline()
        if commits == "0":
            ((rows,),) = session.sql(f"SELECT count(*) FROM {table}").collect()
            print(json.dumps({"rows": rows}), flush=True)
        for number in range(int(commits)):
            mark = f"{name} {number}"
            told = {"what": "append", "id": mark, "outcome": "committed", "version": None, "rows": _ROWS}
            session.conf.set("spark.databricks.delta.commitInfo.userMetadata", mark)
            try:
                session.sql(f"INSERT INTO {table} SELECT id FROM range({_ROWS})")
            except Exception as error:  # noqa: BLE001 - the test says which one may be
                told |= {"outcome": "failed", "why": f"{type(error).__name__} {error}"[:2_000]}
            print(json.dumps(told), flush=True)
        session.stop()


def _session(catalog: str, folder: str) -> SparkSession:
    parts = os.environ["UNITY_CATALOG_CONNECTOR"].split(",")
    jars = [part for part in parts if part.endswith(".jar")]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.jars.packages": ",".join([coordinates(), *(part for part in parts if part not in jars)]),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        f"spark.sql.catalog.{catalog}": "io.unitycatalog.spark.UCSingleCatalog",
        f"spark.sql.catalog.{catalog}.uri": os.environ["UNITY_CATALOG_URL"],
        f"spark.sql.catalog.{catalog}.token": os.environ.get("UNITY_CATALOG_TOKEN", ""),
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


if __name__ == "__main__":
    main()
