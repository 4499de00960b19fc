"""The time that the last start of Spark took on this machine, in the user's cache folder.

Invariant: a folder that cannot be read or written costs the estimate, and nothing else.
"""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from pathlib import Path
from typing import Final

from explorer.spark.engine.java import cache_folder
from explorer.storage.atomic_write import atomic_write

_FILE: Final = "spark-start.json"
_MOST: Final = 20
_LONGEST: Final = 86_400
_log = logging.getLogger(__name__)


class StartTimes:
    """The last measured time of a start, by where Spark runs: an address may contain a token, so its digest is stored.

    Args:
        folder: The folder of the file; the user's cache folder by default.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, float] | None = None

    def last(self, master: str) -> float | None:
        """Return the seconds that the last start on a master took; None if none was measured."""
        return self._all().get(_name(master))

    def keep(self, master: str, seconds: float) -> None:
        """Keep how many seconds a start took; the oldest go."""
        name = _name(master)
        known = [entry for entry in self._all().items() if entry[0] != name]
        self._known = dict([*known, (name, round(seconds, 1))][-_MOST:])
        try:
            with atomic_write(str(self._place()), durable=False) as file:
                file.write(json.dumps(self._known).encode())
        except OSError as error:
            _log.debug("the time of Spark's start cannot be stored: %s", error)

    def _all(self) -> dict[str, float]:
        if self._known is None:
            self._known = _read(self._place())
        return self._known

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = cache_folder()
        return self._folder / _FILE


def _name(master: str) -> str:
    return sha256(master.encode()).hexdigest()[:16]


def _read(file: Path) -> dict[str, float]:
    """Read the times by name in a file; anything else is ignored."""
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _log.debug("the times of Spark's starts in %s cannot be read: %s", file, error)
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {name: float(value) for name, value in entries if _is_time(value)}


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST
