"""The footer of a file, read on request: a job for one window, with progress and cancel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.versions.file_contents import FileContents, StoredColumn, file_contents
from explorer.core.versions.snapshot import Snapshot
from explorer.views.layout.file_card import row_of_file
from explorer.views.rows.spark_work import SparkWork, WorkState
from explorer.views.table.facts import TableFacts

if TYPE_CHECKING:
    from explorer.job import Job

_SHOWN: Final = 12


class FileView(Protocol):
    """A table, and the chosen version of it."""

    @property
    def facts(self) -> TableFacts: ...

    @property
    def version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ColumnShare:
    """A column in a file: its name, its bytes, how large they are beside the largest, and how much they shrank."""

    name: str
    size: int
    width: float
    plain: int
    codec: str


@dataclass(frozen=True, slots=True)
class FooterView:
    """The inside of a file.

    Attributes:
        rows, size, footer: Rows, bytes of the file, and bytes of its footer.
        groups: Row groups: rows, bytes compressed, bytes plain; the first ones.
        more_groups: Further row groups.
        compressed, plain: Bytes of all columns.
        codecs: How they are compressed.
        columns: The largest ones.
        others, others_size: The other columns, and their bytes.
        writer: The library that wrote it.
        elapsed: Seconds that it took.
    """

    rows: int
    size: int
    footer: int
    groups: tuple[tuple[int, int, int], ...]
    more_groups: int
    compressed: int
    plain: int
    codecs: str
    columns: tuple[ColumnShare, ...]
    others: int
    others_size: int
    writer: str
    elapsed: float


@dataclass(frozen=True, slots=True)
class _FooterRequest:
    """The file of which table."""

    place: tuple[str, str]
    table_id: str
    version: int
    path: str

    def __str__(self) -> str:
        """Return what is read, for a log."""
        return f"The footer of a file of {self.place[0]} at version {self.version}"


class FooterWork:
    """At most one footer at a time.

    Args:
        changed: Called, on any thread, when something else is to be shown.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[FileContents] = SparkWork(changed)

    def start(self, view: FileView, name: str) -> None:
        """Begin to read the footer of a live file; one that is being read is stopped."""
        facts, request = view.facts, _request(view, name)

        def make() -> Job[FileContents]:
            from explorer.job import Job, ThisProcess

            path = facts.file_names(request.version).path(name)
            # A message may name any path: no other file is read.
            if row_of_file(facts, request.version, path) < 0:
                raise RequestError(f"Version {request.version} has no live file of this name. Choose one of its files.")
            job: Job[FileContents] = Job("Footer of a file", ThisProcess("Reading the footer"))
            job.begin(partial(_read, facts.log.store, path))
            return job

        self._work.begin(request, make, quietly=True)

    def cancel(self) -> None:
        """Stop reading."""
        self._work.cancel()

    def state(self, view: FileView, name: str) -> WorkState:
        """Return how far the reading is; idle if it is of another file."""
        return self._work.state_of(_request(view, name))

    def footer(self, view: FileView, name: str) -> FooterView | None:
        """Return the footer of a file; None before it was read."""
        request = _request(view, name)
        contents = self._work.about(request)
        if contents is None:
            return None
        return footer_view(contents, view.facts.snapshot(request.version), self._work.state.elapsed)


def footer_view(contents: FileContents, snapshot: Snapshot, elapsed: float = 0.0) -> FooterView:
    """Return a footer as it is shown, with the columns by their logical names."""
    largest = max((column.compressed for column in contents.columns), default=0)
    named = _logical_names(snapshot)
    shown, others = contents.columns[:_SHOWN], contents.columns[_SHOWN:]
    codecs = sorted({codec for column in contents.columns for codec in column.codecs})
    return FooterView(
        contents.rows,
        contents.size,
        contents.footer,
        tuple((group.rows, group.compressed, group.plain) for group in contents.row_groups[:_SHOWN]),
        max(0, len(contents.row_groups) - _SHOWN),
        sum(column.compressed for column in contents.columns),
        sum(column.plain for column in contents.columns),
        ", ".join(codecs),
        tuple(
            ColumnShare(
                _name(column, named),
                column.compressed,
                column.compressed / largest if largest else 0.0,
                column.plain,
                ", ".join(column.codecs),
            )
            for column in shown
        ),
        len(others),
        sum(column.compressed for column in others),
        fmt.plain(contents.writer, 120),
        elapsed,
    )


def _logical_names(snapshot: Snapshot) -> dict[str, str]:
    """Return the logical name of each column by the dotted physical one, of top-level columns too."""
    if not snapshot.has_schema:
        return {}
    fields = {field.physical_name: field.name for field in snapshot.schema.fields}
    return fields | {".".join(column.physical): column.name for column in snapshot.statistics_columns}


def _name(column: StoredColumn, named: dict[str, str]) -> str:
    dotted = ".".join(column.path)
    return fmt.plain(named.get(dotted) or ".".join((named.get(column.path[0], column.path[0]), *column.path[1:])), 300)


def _read(store: object, path: str, job: Job[FileContents]) -> FileContents:
    job.report("Reading the footer")
    return file_contents(store, path, lambda _done, _total: job.check_cancelled())  # type: ignore[arg-type]


def _request(view: FileView, name: str) -> _FooterRequest:
    facts = view.facts
    return _FooterRequest(facts.place, facts.snapshot(view.version).metadata.id, view.version, name)
