"""The demo warehouse: Delta tables with a story, written by this package to try the explorer on.

In: an empty folder, and `stories`: one function for each table.
Out: six tables with weeks of history each, and the rows that every version should have.
Always: people, orders and engines are made up, and the files are real: Parquet data with true statistics, deletion
vectors, checkpoints, and log lines that go through the core's own records. The folder appears whole or not at all.
Everything has the time of its story.
"""

from explorer.demo.warehouse import (
    build_warehouse,
    default_folder,
    demo_warehouse,
    ensure_warehouse,
    is_warehouse,
)

__all__ = ["build_warehouse", "default_folder", "demo_warehouse", "ensure_warehouse", "is_warehouse"]
