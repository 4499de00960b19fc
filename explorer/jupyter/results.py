"""What code takes from the widget: the selected files, rows and changes, as Arrow, pandas or Spark.

Invariants: an answer is about the versions, the condition and the files chosen at the time of the call; rows are read
by Spark, all of them unless a limit is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import RequestError, TableError
from explorer.views import TableView

if TYPE_CHECKING:
    from explorer.spark.scan.results import Planned

FORMS: Final = ("arrow", "pandas", "spark")
_NAMED: Final = 3


def check_paths(view: TableView, paths: Sequence[str]) -> None:
    """Check that each path was a data file of the table in some version that can be shown.

    Raises:
        RequestError: One never was.
    """
    known = view.facts.keep("paths", lambda: _paths(view))
    matches = set(known.filter(pc.is_in(known, value_set=pa.array(paths, pa.string()))).to_pylist())
    strange = [path for path in paths if path not in matches]
    if strange:
        named = ", ".join(map(repr, strange[:_NAMED])) + (" and others" if len(strange) > _NAMED else "")
        raise RequestError(
            f"{view.facts.name} has no data file {named} in any version that can be shown. Paths are those of "
            "`snapshot().files()`, decoded and relative to the table.",
            field="selected_files",
            path=strange[0],
        )


def selected_table(view: TableView, paths: Sequence[str]) -> pa.Table:
    """Return the selected files that are live in the chosen version, then those live only in the one compared with.

    Returns:
        ``version``, in which the file is live; then the columns of `Snapshot.files`.
    """
    wanted = pa.array(paths, pa.string())
    chosen = _live(view, view.version, wanted)
    if chosen.num_rows == len(paths):
        return chosen
    other = _live(view, view.other, wanted)
    only = other.filter(pc.invert(pc.is_in(other.column("path"), value_set=chosen.column("path").combine_chunks())))
    return pa.concat_tables([chosen, only])


def planned_rows(view: TableView, where: str) -> Planned:
    """Plan the rows of the chosen version for which a condition is true."""
    from explorer.spark.scan.scan import scan

    return scan(view.facts.log, view.facts.snapshot(view.version), where=where.strip() or None)


def planned_changes(view: TableView, versions: tuple[int, int], keys: Sequence[str], *, inferred: bool) -> Planned:
    """Plan the changes of a range of versions, both ends included."""
    from explorer.spark.changes.changes import changes
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    return changes(view.facts.log, *versions, inferred=inferred, keys=keys)


def converted(planned: Planned, form: str, limit: int | None) -> Any:
    """Return rows in a form; those of ``spark`` are not read yet."""
    if form == "spark":
        return planned.frame if limit is None else planned.frame.limit(limit)
    from explorer.spark.scan.results import to_arrow

    table = to_arrow(planned, limit)
    return table if form == "arrow" else table.to_pandas()


def _live(view: TableView, version: int, wanted: pa.Array) -> pa.Table:
    files = view.facts.snapshot(version).files()
    matching = files.filter(pc.is_in(files.column("path"), value_set=wanted))
    return matching.add_column(0, "version", pa.array([version] * matching.num_rows, pa.int64()))


def _paths(view: TableView) -> pa.Array:
    facts = view.facts
    try:
        lifetimes = facts.log.history_record().lifetimes
    except TableError:
        # The versions on show are known where the history is not: the widget says above that it cannot be read.
        tables = [facts.snapshot(version).files(["path"]) for version in (view.version, view.other)]
        return pa.concat_tables(tables).column("path").combine_chunks()
    return lifetimes.take(np.arange(len(lifetimes.added)), ["path"]).column("path").combine_chunks()
