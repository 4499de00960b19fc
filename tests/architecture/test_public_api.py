"""The public names of the package. A change here is a change for every user."""

import explorer

PUBLIC = [
    "CommitError",
    "EngineUnavailable",
    "ExplorerError",
    "History",
    "RequestError",
    "Snapshot",
    "SnapshotDiff",
    "StorageError",
    "Table",
    "TableError",
    "UnsupportedFeature",
    "audit",
    "compare",
    "open_table",
]


def test_public_names_are_pinned() -> None:
    assert list(explorer.__all__) == PUBLIC


def test_public_names_are_sorted_and_few() -> None:
    assert list(explorer.__all__) == sorted(explorer.__all__)
    assert len(explorer.__all__) <= 15


def test_public_names_exist() -> None:
    assert [name for name in explorer.__all__ if not hasattr(explorer, name)] == []
