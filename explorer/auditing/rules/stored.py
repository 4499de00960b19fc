"""The table's folder against its log: files that changed in size, and files that nothing names."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import duration, named
from explorer.core.maintenance.unused_files import ReferencedFiles, unused_files
from explorer.core.protocol.arrow.arrays import joined, mask, numbers
from explorer.core.protocol.table_properties.registry import ENABLED_FORMATS
from explorer.core.transaction.intents.records import Vacuum

_UNLISTED: Final = NotAnswered("The table’s folder was not listed. Repeat the audit with its files.")
_CHANGE_DATA: Final = "_change_data/"
_NAMED: Final = ["path", "raw_path", "dv_storage_type", "dv_path_or_inline"]


def _resized(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report live files whose size differs from the log: readers locate the footer by it."""
    stored = subject.inputs.stored
    if stored is None:
        return _UNLISTED
    life, live = subject.history.lifetimes, subject.live
    sizes, known = life.sizes
    paths = joined(life.take(live, ["path"]).column(0))
    places = pc.index_in(paths, value_set=stored.column("path"))
    actual, there_known = numbers(joined(stored.column("size").take(places)))
    differ = there_known & known[live] & (actual != sizes[live])
    count = int(differ.sum())
    if not count:
        return ()
    names = paths.filter(mask(differ)).to_pylist()
    first = int(np.flatnonzero(differ)[0])
    return (
        Finding(
            rule="resized-files",
            severity="error",
            label=f"{fmt.plural(count, 'file')} changed",
            title=f"{fmt.plural(count, 'live file')} {'has' if count == 1 else 'have'} a different size than the "
            "log records",
            evidence=(
                Evidence(named(names), Place("files", subject.version)),
                Evidence(
                    f"{named(names[:1])}: {int(sizes[live][first]):,} bytes in the log, {int(actual[first]):,} stored"
                ),
            ),
            effect="They were rewritten or truncated. A reader fails, or returns rows that no commit added.",
            remedy=see(subject, "See the files, and reload their rows from the source", Place("files")),
            versions=((subject.version, subject.version),),
            files=count,
        ),
    )


def _orphans(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report orphaned files older than the file retention: a writer may still commit newer ones."""
    stored = subject.inputs.stored
    if stored is None:
        return _UNLISTED
    life, terms = subject.history.lifetimes, subject.risks.terms
    everything = ReferencedFiles()
    everything.add_columns(life.take(np.arange(len(life.added)), _NAMED))
    iceberg = ENABLED_FORMATS.is_set(subject.metadata.configuration)
    unused = unused_files(stored, everything, subject.now - terms.files, terms.partition_columns, iceberg=iceberg)
    files: pa.Table = unused.files.filter(pc.invert(pc.starts_with(unused.files.column("path"), _CHANGE_DATA)))
    count = files.num_rows
    if not count:
        return ()
    size = int(numbers(joined(files.column("size")))[0].sum())
    return (
        Finding(
            rule="orphan-files",
            severity="info",
            label=fmt.plural(count, "orphan"),
            title=f"{fmt.plural(count, 'file')} in the folder {'is' if count == 1 else 'are'} orphaned",
            evidence=(
                Evidence(named(files.column("path").to_pylist())),
                Evidence(f"{fmt.size(size)}, older than {duration(terms.files)}; change files were not checked"),
            ),
            effect="They cost storage and no query reads them. They may still contain rows that were deleted "
            "elsewhere.",
            # No vacuum goes by a negative retention.
            remedy=Remedy("Vacuum\u2026", intent=Vacuum(older_than="interval 7 days" if terms.files < 0 else None)),
            files=count,
            size=size,
        ),
    )


STORED_RULES: Final = (
    Rule(
        "resized-files",
        "error",
        "live files of a different size",
        "Data files are never modified, so such a file differs from the committed one.",
        _resized,
    ),
    Rule("orphan-files", "info", "orphaned files", "Failed writes leave them behind.", _orphans),
)
