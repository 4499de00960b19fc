"""The numbers that a V2 checkpoint records of itself, compared with its contents.

Protocol sections: V2 Spec, Sidecar Files, Checkpoint Metadata. Invariant: missing numbers contradict nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.protocol.file_paths import is_absolute
from explorer.core.protocol.log_store import LogStore

__all__ = ["compare_numbers"]


def compare_numbers(store: LogStore, reader: CheckpointReader, version: int, num_adds: int) -> Iterator[str]:
    """Yield each number that a checkpoint records of itself and of its sidecars wrongly.

    Args:
        store: The table's store.
        reader: The checkpoint.
        version: Its version, by its name.
        num_adds: The number of its files.

    Raises:
        IncompleteCheckpoint: It cannot be read.
    """
    sidecars = reader.sidecars()
    size = 0
    for key, sidecar in sidecars:
        holder, stored_key = store.elsewhere(key) if is_absolute(key) else (store, key)
        num_bytes = holder.head(stored_key).size
        size += num_bytes
        if num_bytes != sidecar.size_in_bytes:
            yield f"the sidecar {key} has {num_bytes:,} bytes, its action says {sidecar.size_in_bytes:,}"
    for metadata in reader.checkpoint_metadata():
        if metadata.get("version") not in {None, version}:
            yield f"its checkpointMetadata is of version {metadata['version']}"
        tags = metadata.get("tags")
        if isinstance(tags, Mapping):
            yield from _tags(dict(tags.items()), {"numOfAddFiles": num_adds, "sidecarSizeInBytes": size})


def _tags(recorded: Mapping[str, object], actual: Mapping[str, int]) -> Iterator[str]:
    for name, number in actual.items():
        if name in recorded and recorded[name] != str(number):
            yield f"{name} in its checkpointMetadata is {str(recorded[name])[:40]}, it has {number:,}"
