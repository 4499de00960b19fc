"""``files --layout``: where the bytes and the files of a version are, who wrote them, and what OPTIMIZE would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import explorer
from explorer import formatting as fmt
from explorer.cli.output import emit, facts, listing, patience
from explorer.core.protocol.json_values import JsonRecord

if TYPE_CHECKING:
    from explorer.views.layout.layout import TableLayout
    from explorer.views.layout.optimize import OptimizeEstimate


class WriterFiles(JsonRecord, frozen=True, kw_only=True):
    """The live files of one writer.

    Attributes:
        operation, user_name: Of the commits that wrote them; both null if these are not in the log, and for the others
            where there are many writers.
        num_files: How many there are.
        size_in_bytes: Of those with a size in the log.
    """

    operation: str | None
    user_name: str | None
    num_files: int
    size_in_bytes: int


class SizeFiles(JsonRecord, frozen=True, kw_only=True):
    """The live files from a size on, up to another, which is excluded; both in bytes."""

    at_least: int
    below: int
    num_files: int


class SmallFilesRecord(JsonRecord, frozen=True, kw_only=True):
    """The small files, and who wrote most of them.

    Attributes:
        below: Bytes below which a file counts as small.
        num_files, size_in_bytes: All small files.
        operation, user_name: Of the commits that wrote most of them; null if these are not in the log.
        written_files, written_bytes: The small files of that writer.
        first_version, last_version: The commits that wrote these; null if they are not in the log.
    """

    below: int
    num_files: int
    size_in_bytes: int
    operation: str | None
    user_name: str | None
    written_files: int
    written_bytes: int
    first_version: int | None
    last_version: int | None


class OptimizeRecord(JsonRecord, frozen=True, kw_only=True):
    """What an OPTIMIZE of all partitions to the target size would do, by the planner.

    Attributes:
        removed_files, removed_bytes: Files that are read and replaced.
        added_files: New files.
        files_after: Live files afterwards.
        masked_rows: Rows of replaced files that deletion vectors mask; they are not copied.
        is_exact: The counts are exact; rows that are ordered are cut into files by a sample.
    """

    removed_files: int
    removed_bytes: int
    added_files: int
    files_after: int
    masked_rows: int
    is_exact: bool


class LayoutDocument(JsonRecord, frozen=True, kw_only=True):
    """The layout of a version.

    Attributes:
        table: The table's root, as an address.
        num_files: Live files.
        size_in_bytes: Of those with a size in the log.
        num_without_size: Live files without a size in the log.
        num_partitions: 0 if the table is not partitioned.
        target_file_size: Bytes that new files should have.
        target_source: The property that sets it, or why it is the default.
        writers: The most files first.
        sizes: By powers of two of the size, or of four or more; without files of zero bytes.
        small_files: Null where fewer than a fifth of the files are small.
        optimize: Null where it cannot be planned.
    """

    table: str
    version: int
    num_files: int
    size_in_bytes: int
    num_without_size: int
    num_partitions: int
    target_file_size: int
    target_source: str
    writers: tuple[WriterFiles, ...]
    sizes: tuple[SizeFiles, ...]
    small_files: SmallFilesRecord | None
    optimize: OptimizeRecord | None


def print_layout(table: explorer.Table, version: int, *, as_json: bool) -> None:
    """Print the layout of a version."""
    from explorer.views.layout.layout import table_layout
    from explorer.views.layout.optimize import optimize_estimate
    from explorer.views.table.facts import TableFacts

    with patience("Reading the log"):
        known = TableFacts(table)
        layout = table_layout(known, version)
        estimate = optimize_estimate(known, version, layout)
    document = _document(table.location, version, layout, estimate)
    if as_json:
        emit(document)
        return
    _print(document)


def _print(document: LayoutDocument) -> None:
    small, optimize = document.small_files, document.optimize
    facts(
        f"Layout of version {document.version}",
        [
            ("files", fmt.count(document.num_files)),
            ("size", fmt.size(document.size_in_bytes)),
            *([("without a size", fmt.count(document.num_without_size))] if document.num_without_size else []),
            ("partitions", fmt.count(document.num_partitions) if document.num_partitions else "not partitioned"),
            ("target size", f"{fmt.size(document.target_file_size)}, {document.target_source}"),
            ("small files", "fewer than a fifth" if small is None else _small_words(small)),
            ("OPTIMIZE", "cannot be planned" if optimize is None else _optimize_words(optimize)),
        ],
    )
    listing(
        ["written by", "files", "size"],
        (
            (_writer(each.operation, each.user_name), fmt.count(each.num_files), fmt.size(each.size_in_bytes))
            for each in document.writers
        ),
        "No files.",
        numbers=("files", "size"),
    )


def _writer(operation: str | None, user: str | None) -> str:
    return f"{operation} by {user}" if operation and user else operation or "not in the log, or others"


def _small_words(small: SmallFilesRecord) -> str:
    versions = "" if small.first_version is None else f" in v{small.first_version} to v{small.last_version}"
    return (
        f"{fmt.plural(small.num_files, 'file')} under {fmt.size(small.below)}; {fmt.count(small.written_files)} of "
        f"them by {_writer(small.operation, small.user_name)}{versions}"
    )


def _optimize_words(optimize: OptimizeRecord) -> str:
    if not optimize.removed_files:
        return "nothing to do"
    about = "" if optimize.is_exact else "about "
    return (
        f"would read {fmt.plural(optimize.removed_files, 'file')}, {fmt.size(optimize.removed_bytes)}, and leave "
        f"{about}{fmt.plural(optimize.files_after, 'file')}"
    )


def _document(location: str, version: int, layout: TableLayout, estimate: OptimizeEstimate) -> LayoutDocument:
    small = layout.small
    writers = sorted(layout.groups, key=lambda each: -each.files)
    return LayoutDocument(
        table=location,
        version=version,
        num_files=layout.files,
        size_in_bytes=layout.size,
        num_without_size=layout.sizeless,
        num_partitions=layout.partitions,
        target_file_size=layout.target.size,
        target_source=layout.target.source,
        writers=tuple(
            WriterFiles(
                operation=each.group.writer.operation or None if each.group.writer else None,
                user_name=each.group.writer.author or None if each.group.writer else None,
                num_files=each.files,
                size_in_bytes=each.size,
            )
            for each in writers
        ),
        sizes=tuple(SizeFiles(at_least=each.low, below=each.high, num_files=sum(each.files)) for each in layout.bins),
        small_files=None
        if small is None
        else SmallFilesRecord(
            below=small.limit,
            num_files=small.files,
            size_in_bytes=small.size,
            operation=small.writer.operation or None,
            user_name=small.writer.author or None,
            written_files=small.written,
            written_bytes=small.written_size,
            first_version=None if small.versions is None else small.versions[0],
            last_version=None if small.versions is None else small.versions[1],
        ),
        optimize=None
        if estimate.problem is not None
        else OptimizeRecord(
            removed_files=estimate.rewritten,
            removed_bytes=estimate.read,
            added_files=estimate.made,
            files_after=estimate.after,
            masked_rows=estimate.masked,
            is_exact=estimate.is_exact,
        ),
    )
