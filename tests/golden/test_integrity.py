"""Every golden and reference table is verified; what is found is known and has a reason."""

from __future__ import annotations

import pytest

from explorer.core.log.verify.integrity import verify
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import golden_root, reference_root

FOUND: dict[str, list[tuple[str, int | None]]] = {
    # Its features ask for in-commit timestamps; the commit, written by hand from an older one, has none.
    "delta__bench-basic_catalog_managed__delta": [("no-in-commit-timestamp", 1)],
    # Made to test path handling: the metaData action is there in name only.
    "delta__canonicalized-paths-normal-a": [("no-metadata", 0)],
    # The path of its deletion vector has a placeholder instead of a folder.
    "delta__spark-table-with-dv-special-char": [("invalid-file-values", 0)],
    # Made with a truncated hint.
    "delta__corrupted-last-checkpoint-kernel": [("unusable-hint", None)],
    # The log holds a single add.
    "delta__data-reader-absolute-paths-escaped-chars": [("no-metadata", 0)],
    # Made to test provenance: a metaData action without schema.
    "delta__deltalog-commit-info": [("no-metadata", 0)],
    # Made to lack the action that the name says.
    "delta__deltalog-state-reconstruction-without-metadata": [("no-metadata", 0)],
    "delta__deltalog-state-reconstruction-without-protocol": [("no-protocol", 0)],
    # A commit was taken out of the middle.
    "deltars__err_logs__table_c": [("gap", 12)],
    # A checkpoint far ahead of the commits, which the hint does not know.
    "deltars__err_logs__table_h": [("stale-hint", 10), ("gap", 14)],
    "deltars__err_logs__table_i": [("stale-hint", 10), ("gap", 14)],
    # An action that no edition of the protocol defines, to see that readers pass over it.
    "delta__spark-transaction_log_schema_evolvability": [("unknown-action", 4)],
    # The text of an inline vector is not Z85; others read it with what overflows cut off.
    "kernelrs__cdf-table-with-dv": [("invalid-file-values", 5)],
    # Compactions that are not reconciled: they hold several actions of a file, and adds that a commit removed again.
    # delta-spark reads rows of them that no version has (`client_deviations.csv`).
    "kernelrs__compacted-log-files-table": [("compaction-differs", 0)] * 2 + [("compaction-differs", 6)] * 4,
}
"""Kind and version of every problem; all other tables have none, though they hold 59 checksums."""


@pytest.mark.golden
@pytest.mark.conformance("CRC-006", "CRC-007", "CRC-008", "LASTCKPT-003")
def test_golden_tables_have_the_problems_that_are_known() -> None:
    found = {}
    for folder in sorted((golden_root() / "tables").iterdir()):
        report = verify(open_store(str(folder)))
        if report.problems:
            found[folder.name] = [(problem.kind, problem.version) for problem in report.problems]
    assert found == FOUND


@pytest.mark.reference
@pytest.mark.conformance("CRC-007", "CRC-008")
def test_reference_tables_have_none() -> None:
    """The reference writer's 400 checksums and all its checkpoints agree with replay."""
    for folder in at_least_one(sorted((reference_root() / "tables").iterdir())):
        assert verify(open_store(str(folder))).problems == (), folder.name
