"""Read tables of an object store in a process whose Spark has Hadoop's S3A file system: JSON in, one JSON line out.

Standard input: ``settings`` of Spark, and the tables and versions to read with what Spark and the environment know
(``known``) and with ``options`` (``told``). The answer: for each way and table the content hash of the rows, the plan,
and whether Spark's own reader reads them; or why there is no such Spark.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import explorer
from explorer.spark.engine.session import configure
from explorer.spark.scan.scan import scan
from tests.support.comparison.row_content import content_hash

# What S3A needs of the AWS SDK; its bundle has 600 MB, and the SDK's own netty does not get along with Spark's.
SDK = "2.35.4"
PACKAGES = ["org.apache.hadoop:hadoop-aws:{hadoop}"]
PACKAGES += [f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts")]
EXCLUDES = ["software.amazon.awssdk:bundle", "io.netty:*", "org.wildfly.openssl:wildfly-openssl"]


def hadoop() -> str:
    """The version of Hadoop that PySpark brings."""
    from pathlib import Path

    import pyspark

    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return client.stem.removeprefix("hadoop-client-api-")


def read(location: str, version: int, options: dict[str, Any] | None) -> dict[str, Any]:
    """The rows of a version."""
    table = explorer.open_table(location, storage_options=options)
    planned = scan(table, table.snapshot(version))
    frame: Any = planned.frame
    plan = frame._jdf.queryExecution().toString()
    rows = planned.to_arrow(readable=True)
    return {"content_hash": content_hash(rows), "own_reader": "FileScan parquet" in plan, "plan": plan}


def main() -> None:
    """Read what standard input asks for."""
    asked = json.load(sys.stdin)
    packages = ",".join(PACKAGES).format(hadoop=hadoop())
    settings = {"spark.jars.packages": packages, "spark.jars.excludes": ",".join(EXCLUDES), **asked["settings"]}
    settings["spark.sql.maxPlanStringLength"] = "1000000"  # the plan says who reads
    try:
        configure(None, settings).session()
    except explorer.EngineUnavailable as error:
        print(json.dumps({"unavailable": str(error)}))
        return
    ways = {"told": asked["options"], "known": None}
    print(json.dumps({way: [read(*place, options) for place in asked[way]] for way, options in ways.items()}))


if __name__ == "__main__":
    main()
