"""Guards that need the store: files that a commit names exist, and the location of a new table is free.

Protocol section: VACUUM. Invariants: no table is created where other files are, because no version would name them and
a VACUUM of the table would delete them; nor inside another table, whose VACUUM would delete the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from explorer.core.errors import ExplorerError, NotAllowed, StorageError
from explorer.core.protocol.counted import all_of
from explorer.core.protocol.file_locations import next_step_for_missing
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.retention.missing_files import absent

_MOST_NAMED: Final = 10


def file_guards(store: LogStore, paths: Sequence[str]) -> tuple[GuardResult, ...]:
    """Return whether files that the commit names, and that are not live now, still exist."""
    if not paths:
        return ()
    try:
        missing = sorted(absent(store, paths))
    except StorageError as error:
        evidence: dict[str, object] = {"files": len(paths), "detail": f"The files could not be checked: {error}"}
        return (GuardResult("files-exist", "unknown", evidence, "Try again, or accept this guard by name."),)
    evidence = {"files": len(paths), "missing": missing[:_MOST_NAMED], "numMissing": len(missing)}
    if not missing:
        detail = all_of(len(paths), "file", "exists", "exist")
        return (GuardResult("files-exist", "pass", evidence | {"detail": detail}),)
    verb = "is" if len(missing) == 1 else "are"
    detail = f"{len(missing):,} of {len(paths):,} files {verb} missing, such as {missing[0]}."
    if len(paths) == 1:
        detail = f"The only file is missing: {missing[0]}."
    return (GuardResult("files-exist", "fail", evidence | {"detail": detail}, next_step_for_missing(missing)),)


_SHOWN: Final = 5


def place_guards(store: LogStore) -> tuple[GuardResult, ...]:
    """Judge a place by what the store holds there and around it."""
    return _folder_is_empty(store), _outside_other_tables(store)


def _folder_is_empty(store: LogStore) -> GuardResult:
    """Return whether other files are where the table's will be."""
    others = (key for key in store.list_tree() if not key.startswith("_delta_log/"))
    keys = sorted(islice(others, _SHOWN))
    if not keys:
        return GuardResult("location-free", "pass", {"detail": "The folder is empty."})
    evidence = {"files": keys, "detail": f"The folder already holds files, such as {keys[0]}."}
    remedy = "Choose an empty folder. To bring these files into a table, append them to another table."
    return GuardResult("location-free", "fail", evidence, remedy)


def _outside_other_tables(store: LogStore) -> GuardResult:
    """Return whether the place is in the folder of another table, whose clean-up would delete the new files."""
    checked = []
    for place in _outer_places(store.root):
        try:
            outer, _ = store.elsewhere(f"{place}/")
            first_key = next(iter(outer.list_from("_delta_log")), None)
        except NotAllowed:
            break  # folders further out are not for this program to read
        except ExplorerError as error:
            evidence: dict[str, object] = {"location": place, "detail": f"The folder could not be read: {error}"}
            remedy = "Make sure that the folder is not a table, and accept this guard by name."
            return GuardResult("outside-other-tables", "unknown", evidence, remedy)
        if first_key is not None:
            detail = f"{place} is a table: its VACUUM would delete the new table's files as unused."
            evidence = {"location": place, "detail": detail}
            return GuardResult("outside-other-tables", "fail", evidence, "Choose a folder outside that table.")
        checked.append(place)
    detail = "The place is not inside another table."
    return GuardResult("outside-other-tables", "pass", {"looked at": checked, "detail": detail})


def _outer_places(location: str) -> Iterator[str]:
    """Return the folders around a place, from the inside to the outside, decoded."""
    place = decode_path(location).rstrip("/")
    path = place.rpartition("://")[2]
    for _ in range(path.count("/")):
        place = place.rpartition("/")[0]
        if place and not place.endswith((":/", "://")):
            yield place
