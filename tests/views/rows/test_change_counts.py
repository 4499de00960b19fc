"""How many rows each version changed: what cannot be told is not called none."""

import pyarrow as pa

from explorer.core.versions.change_feed.feed import ChangeVersion
from explorer.views.rows.change_spans import change_counts, unpaired_versions

COUNTS = pa.table(
    {
        "version": [1, 2, 2, 3, 3, 4, 4, 4],
        "change_type": ["insert", "insert", "delete", "insert", "delete", "delete", "update_preimage",
                        "update_postimage"],
        "rows": [5, 261, 181, 2, 3, 1, 7, 7],
    }
)  # fmt: skip
VERSIONS = (
    ChangeVersion(1, 0, "files", False, 1),
    ChangeVersion(2, 0, "files", False, 1),
    ChangeVersion(3, 0, "files", False, 1, row_id_column="_row_id"),
    ChangeVersion(4, 0, "cdc", True, 1),
)


def test_updates_that_nothing_pairs_are_unknown() -> None:
    unpaired = unpaired_versions(VERSIONS, "")
    assert unpaired == {1, 2}
    updated = {row.version: row.updated for row in change_counts(COUNTS, None, unpaired)}
    assert updated == {1: 0, 2: None, 3: 0, 4: 7}


def test_with_key_columns_every_update_is_counted() -> None:
    assert unpaired_versions(VERSIONS, "order_id") == frozenset()
    assert [row.updated for row in change_counts(COUNTS)] == [0, 0, 0, 7]
