"""What a list of tables is filtered by: the facts of each that its newest version and its newest commits show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.auditing import Finding
from explorer.core.errors import CorruptTable
from explorer.core.protocol.arrow.arrays import joined, plain_array, strings
from explorer.core.protocol.schema.data_types import format_column, type_outline
from explorer.core.protocol.schema.nested_types import walk_structs
from explorer.core.protocol.table_features import supported_features
from explorer.core.versions.snapshot import Snapshot
from explorer.views.table.facts import TableFacts

NO_FINDING: Final = "none"
RECENT: Final = 500
"""Newest commits that are searched for writers and engines."""


@dataclass(frozen=True, slots=True, eq=False)
class TableTraits:
    """The facts of one table by which lists are filtered; compared by identity, as a table that changed has others.

    Attributes:
        folders: Its folder, and those above it, each as a served name.
        findings: The ids of the rules that found something; `NO_FINDING` alone if none did.
        features: Table features that its protocol allows.
        protocol: Reader and writer version; empty where unknown.
        writers, engines: Who made the newest commits, and with what, as the log names them.
        owner, catalog: As its catalog has them; empty without one.
        last: When the newest version was committed, ms since the epoch; None if unknown.
        size, files: Live bytes and files of the newest version; None if unknown.
        columns: Each column outside arrays and maps: its dotted name, and its type.
    """

    folders: tuple[str, ...]
    findings: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    protocol: str = ""
    writers: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    owner: str = ""
    catalog: str = ""
    last: int | None = None
    size: int | None = None
    files: int | None = None
    columns: tuple[tuple[str, str], ...] = ()


def folders_above(folder: str) -> tuple[str, ...]:
    """Return a folder and those above it.

    >>> folders_above("shop/eu")
    ('shop', 'shop/eu')
    """
    parts = folder.split("/") if folder else []
    return tuple("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def traits_of(facts: TableFacts, folder: str, findings: Sequence[Finding], last: int | None) -> TableTraits:
    """Return the traits of a table.

    Args:
        facts: Its facts.
        folder: The folder of its served name.
        findings: What the rules found.
        last: When its newest version was committed, ms since the epoch.

    Raises:
        ExplorerError: Its newest version cannot be read.
    """
    snapshot = facts.snapshot(facts.last)
    protocol, entry = snapshot.protocol, facts.catalog_entry
    return TableTraits(
        folders=folders_above(folder),
        findings=tuple(dict.fromkeys(finding.rule for finding in findings)) or (NO_FINDING,),
        features=supported_features(protocol),
        protocol=f"reader {protocol.min_reader_version} \u00b7 writer {protocol.min_writer_version}",
        writers=_names(facts, "user_name"),
        engines=_names(facts, "engine_info"),
        owner=(entry.owner or "") if entry is not None else "",
        catalog=entry.address.removeprefix("uc://").partition(".")[0] if entry is not None else "",
        last=last,
        size=snapshot.size_in_bytes,
        files=snapshot.num_files,
        columns=_columns(snapshot),
    )


def _names(facts: TableFacts, column: str) -> tuple[str, ...]:
    """Return the names in a column of the newest commits; of an engine without its version."""
    if not len(facts.commits):
        return ()
    newest = facts.commits.history.slice(max(len(facts.commits) - RECENT, 0)).column(column)
    texts = [text for text in pc.unique(joined(newest)).to_pylist() if text]
    return tuple(dict.fromkeys(text.partition("/")[0] if column == "engine_info" else text for text in texts))


def _columns(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    try:
        schema = snapshot.schema
    except CorruptTable:
        return ()  # the log has no schema, which the rules find
    return tuple((format_column(path), type_outline(field.type)) for path, _, field in walk_structs(schema))


def text_list(texts: Sequence[Sequence[str]]) -> pa.ListArray:
    """Return lists of texts as a column of lists of a dictionary; what no text can store is escaped."""
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, texts), np.int32, len(texts)), out=ends[1:])
    flat = [text for part in texts for text in part]
    try:
        "".join(flat).encode()
    except UnicodeEncodeError:  # the name of a folder, of bytes that are no text
        flat = [text.encode("utf-8", "backslashreplace").decode() for text in flat]
    return pa.ListArray.from_arrays(plain_array(ends), strings(flat).dictionary_encode())
