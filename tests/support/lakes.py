"""Trees of small tables, in a folder that may be served as a bucket."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.support.logs import small_logs

__all__ = ["small_tables"]


def small_tables(root: Path, names: Iterable[str]) -> Path:
    """Write a table of one commit at each of some paths below a folder, and return the folder."""
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    log = b""
    for name in names:
        place = root / name / "_delta_log"
        if not log:
            small_logs.write_log(root / name, [created])
            log = (place / f"{0:020}.json").read_bytes()
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{0:020}.json").write_bytes(log)
    return root
