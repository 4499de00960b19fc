"""What a V2 checkpoint says of itself compared with what it holds.

Protocol sections: V2 Spec, Sidecar Files, Checkpoint Metadata. Invariant: what it does not state contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.protocol.file_paths import is_absolute
from explorer.core.protocol.log_store import LogStore

__all__ = ["compare_numbers"]


def compare_numbers(store: LogStore, reader: CheckpointReader, version: int, num_adds: int) -> Iterator[str]:
    """Yield each number that a checkpoint states of itself and of its sidecars, and does not have.

    Args:
        store: The table's store.
        reader: The checkpoint.
        version: Its version, by its name.
        num_adds: How many files it holds.

    Raises:
        IncompleteCheckpoint: It cannot be read.
    """
    sidecars = reader.sidecars()
    size = 0
    for key, sidecar in sidecars:
        holder, place = store.elsewhere(key) if is_absolute(key) else (store, key)
        found = holder.head(place).size
        size += found
        if found != sidecar.size_in_bytes:
            yield f"the sidecar {key} has {found:,} bytes, its action says {sidecar.size_in_bytes:,}"
    for stated in reader.checkpoint_metadata():
        if stated.get("version") not in {None, version}:
            yield f"its checkpointMetadata is of version {stated['version']}"
        tags = stated.get("tags")
        if isinstance(tags, Mapping):
            yield from _tags(dict(tags.items()), {"numOfAddFiles": num_adds, "sidecarSizeInBytes": size})


def _tags(stated: Mapping[str, object], found: Mapping[str, int]) -> Iterator[str]:
    for name, number in found.items():
        if name in stated and stated[name] != str(number):
            yield f"{name} in its checkpointMetadata is {str(stated[name])[:40]}, it has {number:,}"
