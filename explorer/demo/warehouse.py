"""The demo warehouse as a folder: built aside and renamed, so that it appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa

from explorer.core.errors import RequestError, StorageError
from explorer.demo.provenance import Calendar
from explorer.demo.stories import customers, events, invoices, ledger, orders, sensors
from explorer.demo.writer import TableWriter

# Each story, and how many weeks before the present one it begins.
_STORIES: Final[dict[str, tuple[Callable[[TableWriter, Calendar], None], int]]] = {
    "archive/sensors-damaged": (sensors.tell, 30),
    "crm/customers": (customers.tell, 5),
    "finance/invoices": (invoices.tell, 6),
    "finance/ledger": (ledger.tell, 6),
    "sales/orders": (orders.tell, 7),
    "web/events": (events.tell, 4),
}
TABLES: Final = tuple(_STORIES)
_MARK: Final = ".delta-table-explorer-demo"
_EDITION: Final = "3"


def default_folder() -> Path:
    """Return the folder that ``DELTA_DEMO`` names, else ``delta-table-explorer/demo`` in the user's data folder.

    The data folder is ``XDG_DATA_HOME``, else ``~/.local/share``.
    """
    if named := os.environ.get("DELTA_DEMO"):
        return Path(named).expanduser().absolute()
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "delta-table-explorer" / "demo"


def demo_warehouse() -> Path:
    """Return the folder of the demo warehouse, which is built there first if it is absent; see `default_folder`.

    Raises:
        RequestError: The folder holds something else.
        StorageError: It cannot be written.
    """
    folder = default_folder()
    ensure_warehouse(folder)
    return folder


def is_warehouse(folder: Path) -> bool:
    """Return whether the folder holds the demo warehouse of this edition."""
    mark = folder / _MARK
    return mark.is_file() and mark.read_text().strip() == _EDITION


def ensure_warehouse(folder: Path) -> bool:
    """Build the warehouse if the folder does not hold it; an older edition is replaced.

    Returns:
        True if it was built now.

    Raises:
        RequestError: The folder holds something else.
    """
    if is_warehouse(folder):
        return False
    build_warehouse(folder, datetime.now(UTC).date())
    return True


def build_warehouse(folder: Path, today: date) -> dict[str, dict[int, pa.Table]]:
    """Build the demo warehouse.

    Args:
        folder: Where to; absent, empty, or an older demo warehouse.
        today: The stories end in the week before that of this day. Builds of one week are the same, byte for byte;
            in another week all times and dates move by whole weeks.

    Returns:
        For each table the rows that each of its versions should hold.

    Raises:
        RequestError: The folder holds something else.
        StorageError: It cannot be written.
    """
    if folder.exists() and not (folder / _MARK).is_file() and any(folder.iterdir()):
        raise RequestError(
            f"The folder {folder} is not empty and holds no demo warehouse. Give another folder, or empty this one.",
            location=str(folder),
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
            rows = _write(Path(aside, "new"), today)
            if folder.exists():
                folder.rename(Path(aside, "old"))
            Path(aside, "new").rename(folder)
    except OSError as error:
        raise StorageError(
            f"The demo warehouse cannot be written to {folder} ({error}). Give a folder that you may write to.",
            path=str(folder),
        ) from error
    return rows


def _write(folder: Path, today: date) -> dict[str, dict[int, pa.Table]]:
    rows = {}
    for seed, (name, (tell, weeks)) in enumerate(_STORIES.items()):
        table = TableWriter(folder / name, seed)
        tell(table, Calendar(today - timedelta(days=today.weekday(), weeks=weeks)))
        rows[name] = table.versions
    (folder / _MARK).write_text(_EDITION + "\n")
    return rows
