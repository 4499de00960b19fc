"""What the whole dose proves: each proof by name, the tests that are it, and how they go about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["PROOFS", "Proof", "proofs_of"]


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof.

    Attributes:
        name: What it is called on the page and on the command line.
        section: The heading that it stands under.
        tests: What pytest is given: a test, a file or a folder.
        how: What the tests do, in a sentence.
    """

    name: str
    section: str
    tests: str
    how: str


_COMMITS: Final = "Commits under races, kills and faults"
_ROWS: Final = "Rows under races, kills and faults"
_OTHERS: Final = "Beside other writers and readers"
_AUDIT: Final = "The audit"
_PAGES: Final = "Pages and notebooks"
_ELSEWHERE: Final = "Rows elsewhere"
_ATTACKS: Final = "Attacks"

PROOFS: Final = (
    Proof(
        "race-disk",
        _COMMITS,
        "tests/prove/test_races.py::test_a_race_on_the_local_disk",
        "16 processes commit 1,600 times at once: appends, removals of files that others want too, batches of one "
        "application",
    ),
    Proof("race-s3", _COMMITS, "tests/prove/test_races.py::test_a_race_on_s3", "the same on an S3 server"),
    Proof(
        "race-deltalake-disk",
        _COMMITS,
        "tests/prove/test_races.py::test_a_race_with_deltalake[disk]",
        "12 processes of ours and 4 of deltalake, 1,600 commits",
    ),
    Proof(
        "race-deltalake-s3",
        _COMMITS,
        "tests/prove/test_races.py::test_a_race_with_deltalake[s3]",
        "the same on an S3 server",
    ),
    Proof(
        "race-reference",
        _COMMITS,
        "tests/interop/test_race_with_reference.py::test_a_race_with_the_reference_writer",
        "3 processes of ours with 450 commits, delta-spark with 50; delta-spark reads the same rows in the end",
    ),
    Proof(
        "store-servers",
        _COMMITS,
        "tests/prove/test_store_servers.py",
        "servers of S3 (versitygw), Azure (azurite) and Google Cloud Storage (an emulator), each where it is "
        "installed: snapshot, rows, change feed, commit, checkpoint, a vacuum that is planned, a race of 4 writers, "
        "roots, and refusals",
    ),
    Proof(
        "store-conditions",
        _COMMITS,
        "tests/storage/test_put_conditions.py",
        "S3 servers that ignore the condition of a put, refuse it, answer it wrongly or heed it too late: no commit, "
        "checkpoint, sidecar, compaction or checksum is written there, and no commit of another writer is lost",
    ),
    Proof(
        "plans-against-the-log",
        _COMMITS,
        "tests/golden/test_plans_against_the_log.py",
        "every intent is planned and committed on copies of every reference table; actions, metrics, history, client "
        "losses, time travel, change feed and headline are compared with the raw log, and each undo is carried out",
    ),
    Proof(
        "kills",
        _COMMITS,
        "tests/prove/test_kills.py",
        "writers are killed (signal 9) after 0 to 0.25 s, with a checkpoint every three commits; the table opens after "
        "each, at the version before or after, and what they left is listed",
    ),
    Proof(
        "faulty-commits",
        _COMMITS,
        "tests/faults/test_faulty_commits.py",
        "every request of a commit, and every pair of requests, fails, loses its answer or arrives late: alone and "
        "with other writers between; the outcome told is right or unknown, and the same plan again is in the log once",
    ),
    Proof(
        "faulty-maintenance",
        _COMMITS,
        "tests/faults/test_maintenance_faults.py",
        "every request of a checkpoint, a clean-up and a vacuum is struck",
    ),
    Proof(
        "refusing-disks",
        _COMMITS,
        "tests/faults/test_refusing_disks.py",
        "a disk that is full at each file of a commit, a log that may not be written to: nothing half visible",
    ),
    Proof(
        "damaged-logs",
        _COMMITS,
        "tests/faults/test_damaged_logs.py",
        "any file of a log cut, flipped or overwritten: the answer of the undamaged table, what the bytes plainly say, "
        "or a typed error",
    ),
    Proof(
        "bombs",
        _COMMITS,
        "tests/prove/test_bombs.py",
        "logs of a few kilobytes that would take up to a gibibyte of memory, of every kind: dictionaries, prefixes, "
        "compressed pages, nulls, objects in JSON, runs of a deletion vector, forged footers of checkpoints, parts, "
        "and sidecars, manifests, checksums, compactions, deep nesting; each is refused, or read without what is too "
        "much, within 2 s and 200 MiB above the base, measured in a process of its own",
    ),
    Proof(
        "properties",
        _COMMITS,
        "tests/properties",
        "up to 5,000 examples each of random histories, changes and bytes: changes of columns and settings, "
        "predicates, and reports too, against a model",
    ),
    Proof(
        "row-races",
        _ROWS,
        "tests/prove/test_row_races.py",
        "16 threads, and 16 processes on a Connect server, change the rows of one table: on disk and S3, deltalake "
        "among them; in the order of the versions they give exactly the table's rows",
    ),
    Proof(
        "row-race-reference",
        _ROWS,
        "tests/interop/test_race_with_reference.py::test_a_race_of_changes_of_rows_with_the_reference_writer",
        "60 changes of rows of ours beside 60 of delta-spark",
    ),
    Proof(
        "killed-streams",
        _ROWS,
        "tests/spark/writes/test_batches.py::test_a_stream_that_is_killed_and_started_again_writes_every_row_once",
        "a stream is killed 25 times, appending and merging; each row is there once",
    ),
    Proof(
        "faulty-row-writes",
        _ROWS,
        "tests/faults/test_faulty_row_writes.py",
        "each request of a write of rows is struck with each fault, for seven intents; workers are killed and left "
        "without a disk",
    ),
    Proof(
        "random-operations",
        _ROWS,
        "tests/spark/writes/test_random_operations.py",
        "20 sequences of 12 operations against a plain model: rows, feed and row ids at every version",
    ),
    Proof(
        "data-commands",
        _OTHERS,
        "tests/spark/writes/test_data_commands.py",
        "each statement of the reference tables that writes rows, as an intent on a copy: of the table as it stood "
        "before; rows, feed, row ids, bounds, operation and metrics",
    ),
    Proof(
        "spark",
        _ROWS,
        "tests/spark",
        "all tests of rows with more examples, versions and tables, on Java and Spark as users have them",
    ),
    Proof(
        "odd-metadata",
        _OTHERS,
        "tests/core/transaction/intents/test_odd_metadata.py",
        "every intent on every table whose metadata is odd",
    ),
    Proof(
        "successors",
        _COMMITS,
        "tests/core/versions/open_log/test_successor.py",
        "each golden and reference log followed version by version beside one that is read whole",
    ),
    Proof(
        "small-actions",
        _COMMITS,
        "tests/core/log/test_small_actions.py",
        "provenance read alone beside the whole reading, on more logs",
    ),
    Proof(
        "first-lines",
        _COMMITS,
        "tests/core/log/test_commit_infos.py",
        "provenance out of the first line of a commit beside a closer look at all of it, whatever its bytes",
    ),
    Proof(
        "provenance",
        _COMMITS,
        "tests/core/versions/commits/test_commit_provenance.py",
        "provenance alone beside the history, on every log, however in-commit timestamps come and go",
    ),
    Proof(
        "kept-history",
        _COMMITS,
        "tests/core/versions/test_kept_history.py",
        "what is kept of a history beside a reading without it, on every log; rewritten logs and broken indexes",
    ),
    Proof(
        "kept-columns",
        _COMMITS,
        "tests/core/versions/test_kept_columns.py",
        "columns that are kept of checkpoints beside a reading without them, in random steps over every table",
    ),
    Proof(
        "kept-statistics",
        _COMMITS,
        "tests/core/log/checkpoint/test_statistics_cache.py",
        "statistics that are kept of checkpoints beside a reading without them, on every table; broken at any byte",
    ),
    Proof(
        "signed-reports",
        _AUDIT,
        "tests/report/test_signed_reports.py",
        "any byte of a report or a statement struck, against its signature",
    ),
    Proof(
        "report-numbers",
        _AUDIT,
        "tests/report/test_numbers_of_the_pages.py",
        "every number of the report of every golden and reference table is on its pages; what commits did adds up "
        "to the rows that others counted at each version",
    ),
    Proof(
        "widget-tables",
        _PAGES,
        "tests/jupyter/test_golden_tables.py",
        "the widget on every golden table",
    ),
    Proof(
        "interop",
        _OTHERS,
        "tests/interop",
        "all tests beside delta-spark: new tables, catalogs, maintenance of the log, object stores with jars",
    ),
    Proof(
        "four-answers",
        _OTHERS,
        "tests/interop/test_four_answers.py",
        "verify, the audit, the rows and delta-spark on the tables of others: every golden and reference table and "
        "every table made after a public report; where rows fail, or two readers differ, verify or the audit says so",
    ),
    Proof(
        "intents-side-by-side",
        _OTHERS,
        "tests/interop/test_intents_side_by_side.py",
        "every intent beside the statement of delta-spark that does the same, which reads after each",
    ),
    Proof(
        "rows-side-by-side",
        _OTHERS,
        "tests/interop/test_rows_side_by_side.py",
        "changes of rows beside delta-spark on newly made data, each going on with the other's table",
    ),
    Proof(
        "row-changes-side-by-side",
        _OTHERS,
        "tests/interop/test_row_changes_side_by_side.py",
        "20 random sequences of changes of rows here and by delta-spark: on copies of a new table, each going on with "
        "the other's; rows, feed, row ids and metrics",
    ),
    Proof(
        "features-side-by-side",
        _OTHERS,
        "tests/interop/test_features_side_by_side.py",
        "table features switched on and off beside delta-spark",
    ),
    Proof(
        "vacuum",
        _OTHERS,
        "tests/interop/test_vacuum.py",
        "what a vacuum would take beside a real VACUUM of delta-spark on copies, for every table and retention",
    ),
    Proof(
        "golden",
        _OTHERS,
        "tests/golden",
        "every golden and reference table: read as expected and as others read it; checkpoints and checksums written; "
        "each commit of the reference proposed again; unused files beside deltalake",
    ),
    Proof(
        "client-verdicts",
        _OTHERS,
        "tests/golden/test_client_verdicts.py",
        "other clients read every golden and reference table, and write to a copy, as the matrix says: four releases "
        "of deltalake, each way that they read, DuckDB's extension and the wrapper of the delta kernel",
    ),
    Proof(
        "client-verdicts-of-the-reference",
        _OTHERS,
        "tests/interop/test_client_verdicts.py",
        "the same of delta-spark",
    ),
    Proof(
        "erasure",
        _AUDIT,
        "tests/auditing/erasure",
        "the places of matching rows beside a search of every Parquet file by PyArrow alone: on every golden and "
        "reference table; none missed, none claimed",
    ),
    Proof(
        "footers",
        _AUDIT,
        "tests/auditing/test_footers.py",
        "statistics of the log beside the footers of the live files of every golden and reference table",
    ),
    Proof(
        "crawl-demo",
        _PAGES,
        "tests/prove/test_crawl.py::test_every_control_of_every_tab_of_a_demo_table",
        "Chromium presses every control and key of every tab of every table of the demo: every link, button, menu, "
        "list, and field, in both themes, where commits are allowed (the strip and the header singly on a table's "
        "first tab, by kind on the others); an error shown or logged, a script's error, an answer of status 400 or "
        "one that does not come, a request off the machine each fail it",
    ),
    Proof(
        "crawl-odd",
        _PAGES,
        "tests/prove/test_crawl.py::test_every_control_of_every_tab_of_an_odd_table",
        "the same on odd tables: one commit, 10,000 commits, 2,000 columns, nested, with a gap, broken, hostile names",
    ),
    Proof(
        "crawl-lists",
        _PAGES,
        "tests/prove/test_crawl.py::test_every_control_of_the_list_of_tables",
        "the same on the list of tables and the record of activity",
    ),
    Proof(
        "crawl-widget",
        _PAGES,
        "tests/prove/test_crawl_widget.py",
        "the same on the widget in JupyterLab, on four tables; a press that leads the notebook to another address, or "
        "opens a window, fails it too",
    ),
    Proof(
        "server-attacks",
        _PAGES,
        "tests/prove/test_server_attacks.py",
        "every address with every method and odd header, and messages of pages changed at random: of Bokeh's protocol "
        "too, and the pages of two people presented by each other; answered in words or closed, with nothing of the "
        "inside, nothing planned and nothing written",
    ),
    Proof(
        "soak",
        _PAGES,
        "tests/prove/test_soak.py",
        "30 people with scripted sockets look at a table for 30 minutes while this program and deltalake commit: no "
        "error shown or logged, every page is told of the newest version and ends at it, and the server takes at most "
        "96 MiB more than after 5 minutes; 500 pages are opened and left, and the memory is back within the same bound",
    ),
    Proof(
        "nginx",
        _PAGES,
        "tests/prove/test_nginx.py",
        "Chromium signs in, looks, plans and signs out behind nginx with TLS and a prefix: which it passes on or "
        "takes away, with the host as it is or changed",
    ),
    Proof(
        "single-sign-on",
        _PAGES,
        "tests/prove/test_single_sign_on.py",
        "Chromium signs in and out at Keycloak, where it is unpacked (`KEYCLOAK_HOME`): groups of the token, renewal, "
        "a person who is locked out, expiry, an issuer that is down or silent, a wrong secret, no consent, new keys, "
        "and every kind of signature",
    ),
    Proof("views", _PAGES, "tests/views", "figures and parts of pages at every version of every reference table"),
    Proof("pages", _PAGES, "tests/web", "the server without a browser: its list of tables, logins, headers, addresses"),
    Proof("table-pages", _PAGES, "tests/page", "the page of a table without a browser: each tab, form, and outcome"),
    Proof("commands", _PAGES, "tests/cli", "the commands in processes of their own, interrupted ones among them"),
    Proof("widget", _PAGES, "tests/jupyter", "the notebook widget and the displays, on a live kernel"),
    Proof("demo", _PAGES, "tests/demo", "the demo tables built anew, and read by deltalake and DuckDB"),
    Proof("browser", _PAGES, "tests/e2e", "the browser's tests with a Chromium as users have it, axe's every rule"),
    Proof(
        "notebooks", _PAGES, "tests/notebooks", "the nine notebooks, each in a kernel of its own; the tour in a browser"
    ),
    Proof(
        "connect",
        _ELSEWHERE,
        "tests/prove/test_spark_elsewhere.py::test_a_connect_server_passes_every_test_of_rows",
        "every test of tests/spark against a Spark Connect server of its own",
    ),
    Proof(
        "cluster",
        _ELSEWHERE,
        "tests/prove/test_spark_elsewhere.py::test_a_cluster_of_two_workers_passes_a_few",
        "scans with masks, changes, checks and a survey on a standalone cluster of two workers on the loopback",
    ),
    Proof(
        "catalog-races",
        _COMMITS,
        "tests/catalogs/test_managed_races.py",
        "8 processes commit 160 times at once through a Unity Catalog, the tests' own or that of `UNITY_CATALOG_URL`, "
        "reliable, with faults on a third of the changes, and while requests and answers are lost and the server is "
        "restarted (`UNITY_CATALOG_RESTART`); and beside delta-spark with `UNITY_CATALOG_CONNECTOR`",
    ),
    Proof(
        "large-lake",
        _ELSEWHERE,
        "tests/storage/table_search/test_large_lake.py",
        "12,000 tables in a bucket: their names, the first page, and an audit of all; requests are counted, and the "
        "memory of the audit's largest process",
    ),
    Proof(
        "cluster-hosts",
        _ELSEWHERE,
        "tests/spark/engine/test_clusters.py",
        "work on workers in another network namespace whose Python has no package: rows, changes, an erasure, "
        "OPTIMIZE, live files, and an audit of a lake are the same as on this machine; what workers lack is named",
    ),
    Proof(
        "guide-examples",
        _OTHERS,
        "tests/guide/test_examples.py",
        "the README's and the guide's examples of rows too, in the order of each page",
    ),
    Proof(
        "team-pages",
        _PAGES,
        "tests/guide/test_team_pages.py",
        "two servers behind nginx with the guide's own configuration: TLS, a prefix, logins, health; systemd reads the "
        "guide's unit",
    ),
    Proof(
        "dockerfile",
        _PAGES,
        "tests/release/test_dockerfile.py",
        "every step of the Dockerfile in a clean Debian, without a container engine; what comes out runs Spark, "
        "serves, and ends at SIGTERM",
    ),
    Proof(
        "condition-words",
        _OTHERS,
        "tests/spark/scan/predicate/test_condition_words.py",
        "every word of Spark's grammar as a column, beside Spark's own parser: in 22 forms of a condition, and in "
        "20,000 random conditions; what is read here is true of the same rows there",
    ),
    Proof(
        "first-rows",
        _OTHERS,
        "tests/first_rows",
        "the first pages of every golden and reference table, beside Spark: at several versions, masked rows too, and "
        "770 pairs of a stored type and a column's type, and 4,000 generated conditions; rows read here are the rows "
        "of Spark, with its types, places, and errors",
    ),
    Proof(
        "changed-rows",
        _OTHERS,
        "tests/changed_rows",
        "the changes of every version of those tables, beside Spark: of every golden and reference table, recorded, "
        "inferred, and paired by a key, and the rows in which its versions differ; rows and counts read here are "
        "those of Spark",
    ),
    Proof(
        "expressions",
        _ATTACKS,
        "tests/prove/test_expression_attacks.py",
        "60,000 random expressions beside Spark's own parser: each refused function in every spelling, and a regular "
        "expression that never ends while Spark plans; its Java process is ended and starts again",
    ),
    Proof(
        "expression-entries",
        _ATTACKS,
        "tests/spark/engine/test_expressions.py",
        "every spelling of an attack through every way in for an expression: and from every place in a hostile "
        "table's metadata; every example that Spark documents of a function that may be called",
    ),
)


def proofs_of(test: str) -> list[Proof]:
    """The proofs that a test, by pytest's name of it, is a part of."""
    return [
        proof
        for proof in PROOFS
        if test == proof.tests or test.startswith((f"{proof.tests}/", f"{proof.tests}::", f"{proof.tests}["))
    ]
