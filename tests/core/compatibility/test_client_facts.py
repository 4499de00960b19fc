"""What is known of other clients: the rows as shipped, and each of them against what was collected."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from explorer.core.compatibility.client_facts import Operation, client_facts
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import REPOSITORY

WHEN = {"", "not in use", "mode id", "names kept", "reader 2", "reader 2, names kept", "partitions mapped"}
STATES = {"", "yes", "no", "wrong", "partial", "unknown"}
OPERATIONS: tuple[Operation, ...] = ("read", "write")


def test_every_row_has_a_source_a_date_and_known_words() -> None:
    for row in at_least_one(client_facts().rows):
        assert row.source, row
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", row.as_of), row
        assert row.basis in {"stated", "rule", "list", "dated", "mixed", "unverified"}, row
        assert row.when in WHEN, row
        assert row.basis == "stated" or row.note, f"a weak spot says why: {row}"
        for state in (row.read, row.write):
            match row.feature:
                case "protocol":
                    assert re.fullmatch(r"(\d\+?)?|partial", state), row
                case "*":
                    library = state.rpartition(" ")[0]
                    assert state in STATES or library in client_facts().versions, row
                case _:
                    assert state in STATES, row


def test_no_two_rows_say_the_same_and_every_version_of_a_client_stands_together() -> None:
    rows = client_facts().rows
    keys = Counter((row.client, row.version_from, row.feature, row.when) for row in rows)
    assert [key for key, times in keys.items() if times > 1] == []
    releases = [(row.client, row.version_from) for row in rows]
    changes = [releases[0], *(after for before, after in pairwise(releases) if before != after)]
    assert len(changes) == len(set(changes))


def test_every_client_begins_with_the_protocol_versions_it_knows() -> None:
    first = {row.client: row.feature for row in reversed(client_facts().rows)}
    assert {client for client, feature in first.items() if feature != "protocol"} <= {
        "delta-rs to_pyarrow_*/to_pandas path"
    }


# --- against what was collected ---------------------------------------------------------------------------------------

# What the collection calls a version, where the file has another name for it.
VERSIONS = {
    ("delta-rs (python deltalake)", "<1.4.0"): "0.15.0",
    ("delta-rs (python deltalake)", "<1.6.0"): "0.15.0",
    ("Trino", "2023-05 PR merged (release no. unverified)"): "2023-05 (pull request)",
    ("Trino", "2024-08+"): "2024-08",
    ("Presto", "2026-04 (PR merged)"): "2026-04",
    ("Presto", "<2026-04"): "before 2026-04",
    ("Presto", "2026-03 (PR open)"): "before 2026-04",
    ("DuckDB delta extension", "<v0.3 (2024-07 report)"): "v0.2.0",
    ("DuckDB delta extension", "HEAD docs 2026"): "HEAD 2026-07",
    ("Polars scan_delta", "<=1.3x (2025-09)"): "2025-09 (up to 1.3x)",
    ("Polars scan_delta", "2025-09"): "2025-09 (up to 1.3x)",
    ("delta-standalone (legacy Flink/Hive/Presto base)", "<=2022-11 line"): "up to 2022-11",
    ("Flink (legacy delta-flink on Standalone)", "0.6+"): "0.6",
    ("Snowflake (Delta Direct -> Iceberg table)", "<2026-03-02"): "before 2026-03-02",
    ("ClickHouse DeltaLake", "2025-04 PR (release no. unverified)"): "2025-04 (pull request)",
    ("ClickHouse DeltaLake", "open 2026-09"): "2026-09",
    ("Fabric Data Warehouse export", "2024 docs"): "",
    ("Fabric (all)", "2024 docs"): "",
}
# What the collection says in words that are no feature: (feature, read, write) as the file has them.
WORDS = {
    ("delta-spark", "minWriterVersion<=3 (checkConstraints)"): ("protocol", "1", "3"),
    ("delta-spark", "minWriterVersion<=4 (generatedColumns)"): ("protocol", "1", "4"),
    ("delta-spark", "minReaderVersion<=2/minWriterVersion<=5 (columnMapping)"): ("protocol", "2", "5"),
    ("delta-spark", "minWriterVersion<=4 (changeDataFeed)"): ("changeDataFeed", "yes", "yes"),
    ("delta-spark", "tableFeatures reader3/writer7"): ("protocol", "3", "7"),
    ("Databricks Runtime", "tableFeatures reader3/writer7"): ("protocol", "3", "7"),
    ("delta-standalone (legacy Flink/Hive/Presto base)", "protocol"): ("protocol", "1", "2"),
    ("Flink (legacy delta-flink on Standalone)", "protocol"): ("protocol", "1", "2"),
    ("Power BI fn_ReadDeltaTable.pq", "protocol"): ("protocol", "2", "0"),
    ("Delta Sharing OSS server", "protocol"): ("protocol", "1", "0"),
    ("Snowflake (Delta Direct -> Iceberg table)", "protocol"): ("protocol", "2", "0"),
    ("Athena", "protocol"): ("protocol", "3", "0"),
    ("Snowflake (Delta Direct -> Iceberg table)", "minReaderVersion 3 / deletionVectors / clustering"): (
        "deletionVectors",
        "yes",
        "no",
    ),
    ("BigQuery BigLake", "reader version 3 + deletionVectors + columnMapping"): ("columnMapping", "yes", "no"),
    ("ClickHouse DeltaLake", "write (INSERT)"): ("protocol", "1+", "partial"),
    ("ClickHouse DeltaLake", "per delta-kernel-rs"): ("protocol", "1+", "0"),
    ("Flink (new delta-flink on Kernel)", "source/read"): ("protocol", "0", ""),
    ("delta-spark", "deletionVectors:DELETE"): ("deletionVectors", "yes", "yes"),
    ("delta-spark", "deletionVectors:UPDATE"): ("deletionVectors", "yes", "yes"),
    ("delta-spark", "deletionVectors:MERGE"): ("deletionVectors", "yes", "yes"),
    ("Trino", "deletionVectors (create)"): ("deletionVectors", "yes", "yes"),
    ("delta-rs (python deltalake)", "timestampNanos (feature-gated build)"): ("timestampNanos", "", ""),
}
# What is not about reading or writing a table, or is told in another way.
LEFT_OUT = {
    "DROP FEATURE without history truncation (fast drop, adds checkpointProtection)": "says what a command does",
    "DROP FEATURE (legacy: 2 steps, 24h, truncates history)": "says what a command does",
    "DROP FEATURE (fast, adds checkpointProtection)": "says what a command does",
    "time travel (AT VERSION/TIMESTAMP)": "says what a query can ask",
    "time travel": "says what a query can ask",
    "identityColumns write / UniForm": "a row of each Fabric client that writes",
    "kernel pin": "a library, tested below",
    "write": "a library, tested below",
    "deletionVectors:SCAN": "the note of deletionVectors at the same version",
    "symlink manifest only (no log reading)": "a note",
    "-": "a note",
}
# Where the file says less than the collection: a contradiction or a restriction there.
CAUTIOUS = {
    ("delta-spark", "2.3.0", "deletionVectors", "write"): "partial",
    ("Databricks Runtime", "12.2 LTS", "deletionVectors", "write"): "partial",
    ("delta-kernel-java", "4.4", "changeDataFeed", "write"): "partial",
    ("Polars scan_delta", "2026-03", "deletionVectors", "read"): "partial",
    ("Polars scan_delta", "2025-09 (up to 1.3x)", "timestampNtz", "write"): "unknown",
    ("Athena", "engine v3", "deletionVectors", "read"): "unknown",
    ("ClickHouse DeltaLake", "2026-09", "columnMapping", "read"): "wrong",
    # It lists them and refuses them: `golden/client_deviations.csv` would have the tables otherwise.
    **{
        ("delta-spark", "4.3.0", feature, operation): "no"
        for feature in ("geospatial", "geospatial-dev")
        for operation in OPERATIONS
    },
}


def collected() -> list[dict[str, str]]:
    """The rows as they were collected, or skip; a CI machine that has the folder without them fails."""
    folder = REPOSITORY.parent / "shared"
    path = Path(os.environ.get("DELTA_COMPAT", folder / "compat" / "client-features.csv"))
    if not path.is_file():
        if os.environ.get("CI") == "true" and folder.is_dir():
            pytest.fail(f"no collected facts at {path}", pytrace=False)
        pytest.skip(f"no collected facts at {path}")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_every_collected_fact_is_there_or_left_out_for_a_reason() -> None:
    facts = client_facts()
    seen = 0
    for row in collected():
        client, version, topic = row["client"], row["version_from"], row["feature"]
        version = VERSIONS.get((client, version), version)
        if topic in LEFT_OUT or not version:
            continue
        feature, read, write = WORDS.get((client, topic), (topic, row["read"], row["write"]))
        assert version in facts.versions[client], row
        for operation, told in (("read", read), ("write", write)):
            expected = CAUTIOUS.get(
                (client, version, feature, operation), plain(told, unverified="UNVERIFIED" in str(row))
            )
            if expected is not None:
                found = facts.statement(client, version, feature, operation)  # type: ignore[arg-type]  # one of the two
                assert (row, operation, expected) == (row, operation, found and found.state)
        seen += 1
    assert seen > 230


def plain(told: str, *, unverified: bool) -> str | None:
    """A word of the collection as the file has it; None where it says nothing."""
    if unverified:
        return "unknown"
    if told in {"", "n/a"} or told.startswith("per "):
        return None
    if told.startswith("NO: "):
        return "wrong"
    if told in {"name", "name only", "name+id", "read only"}:
        return None  # of the conditions of column mapping, and of clustering for writers, tested below
    if told == "?":
        return "unknown"
    if told.startswith("only if "):
        return "no"
    return re.sub(r" \(.*\)", "", told)
