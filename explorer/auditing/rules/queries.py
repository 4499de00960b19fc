"""Statistics of the columns that queries are known to need: clustering columns, and those in recorded conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place
from explorer.auditing.rule import NotAnswered, Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.sql.stored_expressions import expression_columns

__all__ = ["QUERY_RULES", "needed_columns", "unrecorded_columns"]

_FEW: Final = 20
_MOST_CONDITIONS: Final = 200
_WITHOUT_BOUNDS: Final = frozenset({"binary", "boolean", "variant", "void"})
_SPARK_ID: Final = re.compile(r"#\d+L?\b")


def _lacking(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    if subject.snapshot.num_files < _FEW:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    lacking = [name for name in unrecorded_columns(subject) if name in needed_columns(subject)]
    if not lacking:
        return ()
    clustered = [name for name in lacking if name in subject.snapshot.clustering_columns]
    one = len(lacking) == 1
    return (
        Finding(
            rule="needed-statistics",
            severity="warning",
            label=f"{fmt.plural(len(lacking), 'column')} without data skipping",
            title=f"No file has statistics of {named(lacking)}, by which {'it is' if one else 'rows are'} looked up",
            evidence=(
                Evidence(f"clustered by {named(clustered)}" if clustered else "conditions in the history name them"),
                Evidence(named(lacking), Place("statistics", column=lacking[0])),
            ),
            effect=f"A condition on {'it' if one else 'them'} reads all "
            f"{fmt.plural(subject.snapshot.num_files, 'file')}.",
            remedy=see(subject, "See the statistics", Place("statistics", column=lacking[0])),
            files=subject.snapshot.num_files,
        ),
    )


def unrecorded_columns(subject: Subject) -> list[str]:
    """Return columns of which no file has statistics, though their type has bounds."""
    coverage = subject.snapshot.statistics_coverage().to_pylist()
    return [row["column"] for row in coverage if not row["files"] and row["type"] not in _WITHOUT_BOUNDS]


def needed_columns(subject: Subject) -> frozenset[str]:
    """Clustering columns, and columns in the conditions of recorded deletes, updates, merges and overwrites."""
    names = {column.name.lower(): column.name for column in subject.snapshot.statistics_columns}
    columns = set(subject.snapshot.clustering_columns)
    for text in _conditions(subject):
        try:
            paths = expression_columns(_SPARK_ID.sub("", text))
        except InvalidIntent:
            continue
        # A condition of a merge puts the name of a side before the column.
        spelt = {".".join(path[start:]).lower() for path in paths for start in range(len(path))}
        columns |= {names[each] for each in spelt if each in names}
    return frozenset(columns)


def _conditions(subject: Subject) -> Iterator[str]:
    infos = [record.info for record in subject.history.commits if record.info is not None]
    given = [info.operation_parameters for info in infos if info.operation_parameters]
    for parameters in [each for each in given if "predicate" in each][-_MOST_CONDITIONS:]:
        yield from _texts(parameters["predicate"])


def _texts(value: object) -> Iterator[str]:
    """Yield the conditions of a parameter: a text, or a JSON list of texts."""
    if not isinstance(value, str):
        return
    try:
        parts = msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError:
        parts = [value]
    yield from parts


QUERY_RULES: Final = (
    Rule(
        "needed-statistics",
        "warning",
        "filter columns without statistics",
        "Without them, each lookup reads every file.",
        _lacking,
    ),
)
