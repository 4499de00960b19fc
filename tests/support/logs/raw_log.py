"""A log read a second time, without the program: JSON, and checkpoints by PyArrow, actions as plain dictionaries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

__all__ = ["Action", "RawState", "commit_lines", "raw_state", "stored_files", "versions_of"]

Action = dict[str, Any]
Key = tuple[str, str | None]


@dataclass(slots=True)
class RawState:
    """What is in force at a version; files by decoded path and vector."""

    version: int
    protocol: Action = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    files: dict[Key, Action] = field(default_factory=dict)

    @property
    def configuration(self) -> dict[str, str]:
        return dict(self.metadata.get("configuration") or {})

    @property
    def features(self) -> set[str]:
        return {*(self.protocol.get("readerFeatures") or ()), *(self.protocol.get("writerFeatures") or ())}

    @property
    def schema(self) -> Any:
        return json.loads(self.metadata["schemaString"])

    @property
    def needed(self) -> set[str]:
        """The files that its rows are read from, without those at absolute places."""
        return {place for key, action in self.files.items() for place in places(key, action)}

    @property
    def masked(self) -> bool:
        return any(key[1] is not None for key in self.files)

    def take(self, action: Action) -> None:
        """Apply one action."""
        for kind, value in action.items():
            if value is None:
                continue
            if kind == "protocol":
                self.protocol = value
            elif kind == "metaData":
                self.metadata = value
            elif kind == "domainMetadata":
                self.domains.pop(value["domain"], None)
                if not value.get("removed"):
                    self.domains[value["domain"]] = value["configuration"]
            elif kind == "add":
                self.files[_key(value)] = value
            elif kind == "remove":
                self.files.pop(_key(value), None)


def places(key: Key, action: Action) -> Iterator[str]:
    """The keys under the root of a file and of its vectors."""
    yield key[0]
    vector = action.get("deletionVector")
    if vector is not None and vector["storageType"] == "u":
        folder = vector["pathOrInlineDv"][:-20]
        yield f"{folder}{'/' if folder else ''}{vector_name(vector)}"


def vector_name(vector: Mapping[str, Any]) -> str:
    """The name of a file of vectors: its last 20 characters are a UUID in base 85."""
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    number = b""
    text = vector["pathOrInlineDv"][-20:]
    for start in range(0, 20, 5):
        value = 0
        for letter in text[start : start + 5]:
            value = value * 85 + alphabet.index(letter)
        number += value.to_bytes(4)
    digits = number.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"deletion_vector_{'-'.join(parts)}.bin"


def versions_of(root: Path) -> list[int]:
    """The versions that have a commit, ascending."""
    return sorted(int(path.stem) for path in (root / "_delta_log").glob("*.json") if re.fullmatch(r"\d{20}", path.stem))


def commit_lines(root: Path, version: int) -> list[Action]:
    """The actions of a commit."""
    text = (root / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def raw_state(root: Path, version: int | None = None) -> RawState | None:
    """A version, the newest without one; None where the log does not rebuild it."""
    commits = versions_of(root)
    target = commits[-1] if version is None else version
    bases = [base for base in _checkpoints(root) if base <= target]
    start = 0 if commits[0] == 0 else max(bases, default=None)
    if start is None or any(number not in commits for number in range(start + (commits[0] != 0), target + 1)):
        return None
    found = RawState(target)
    if commits[0] != 0:
        for action in _checkpoints(root)[start](root):
            found.take(action)
    for number in range(start + (commits[0] != 0), target + 1):
        for action in commit_lines(root, number):
            found.take(action)
    return found


def stored_files(root: Path) -> set[str]:
    """The keys of all files of a table but those of its log."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {key for path in files if not (key := path.relative_to(root).as_posix()).startswith("_delta_log/")}


def _checkpoints(root: Path) -> dict[int, Any]:
    found: dict[int, list[Path]] = {}
    for path in sorted((root / "_delta_log").iterdir()):
        match = re.match(r"(\d{20})\.checkpoint\.", path.name)
        if match and path.suffix in (".parquet", ".json"):
            found.setdefault(int(match[1]), []).append(path)
    return {version: lambda _, parts=parts: _actions(parts) for version, parts in found.items()}


def _actions(parts: list[Path]) -> Iterator[Action]:
    for path in parts:
        lines = (
            [json.loads(line) for line in path.read_text().splitlines()]
            if path.suffix == ".json"
            else pq.read_table(path).to_pylist(maps_as_pydicts="lossy")
        )
        for action in lines:
            if (sidecar := action.get("sidecar")) is not None:
                table = pq.read_table(path.parent / "_sidecars" / Path(sidecar["path"]).name)
                yield from table.to_pylist(maps_as_pydicts="lossy")
            yield action


def _key(action: Action) -> Key:
    vector = action.get("deletionVector")
    found = None
    if vector is not None:
        offset = vector.get("offset")
        found = f"{vector['storageType']}{vector['pathOrInlineDv']}{'' if offset is None else f'@{offset}'}"
    return unquote(action["path"]), found
