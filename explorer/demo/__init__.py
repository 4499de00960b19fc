"""The demo warehouse: Delta tables with a story, written by this package to try the explorer on.

Everything in it is made up: people, orders, engines. The files are real: Parquet data with true statistics, deletion
vectors, checkpoints, and log lines that go through the core's own action records.
"""

from explorer.demo.warehouse import build_warehouse, default_folder, ensure_warehouse, is_warehouse

__all__ = ["build_warehouse", "default_folder", "ensure_warehouse", "is_warehouse"]
