"""One search for several predicates, also as a job of Spark: the log and the folder, the files once, the log again for
each predicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from explorer.auditing.erasure.constants import Constants, constants_of, only_equalities
from explorer.auditing.erasure.neighbour_tables import Neighbour, neighbours_of, related
from explorer.auditing.erasure.proof import Basis, Erasure, erasure
from explorer.auditing.erasure.search_plan import named_columns, search_plan
from explorer.auditing.erasure.stored_files import stored_files
from explorer.auditing.erasure.traces import LogTraces, log_traces
from explorer.auditing.erasure.value_conditions import ValueCondition, logged_columns, value_condition
from explorer.core.errors import RequestError
from explorer.core.log.log_path import LOG_FOLDER
from explorer.core.protocol.schema.char_types import padded_lengths
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.field_metadata import COLLATIONS
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_definition import check_allowed_mapping
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.file_search import SearchGroup, SearchResult
from explorer.core.versions.snapshot import Snapshot
from explorer.version import VERSION

if TYPE_CHECKING:
    from explorer.job import Job

_NO_CONSTANT = "the predicate has no constant to search the log for"
_OTHER_VALUES = (
    "the log is searched for the constants of the predicate; its bounds and partition values may hold some that match "
    "it without being equal to one: ask for the values themselves, with = or IN, or compare columns with constants, to "
    "have it answered"
)


def prove_erasure(
    log: DeltaLog,
    predicates: Mapping[str, str],
    now: int,
    search: Callable[[tuple[SearchGroup, ...]], SearchResult],
    check_cancelled: Callable[[], None] = lambda: None,
    *,
    others: Iterable[Neighbour] = (),
    looked_in: tuple[str, ...] = (),
) -> dict[str, Erasure]:
    """Find every copy of the rows that match some predicates.

    Args:
        log: The table's log.
        predicates: SQL by name, over the columns of the newest version.
        now: ms since the epoch.
        search: Searches the files for all predicates.
        check_cancelled: Called between the steps, and for each file that is listed or read; may raise.
        others: Tables beside this one: those that share its files, or have a column of a predicate, are named.
        looked_in: Where these are all the tables that there are.

    Returns:
        A proof for each predicate, by name.

    Raises:
        RequestError: There is no predicate, or one cannot be used.
        TableError: The log is broken.
        StorageError: The folder cannot be listed.
    """
    if not predicates:
        raise RequestError("Enter at least one predicate.", field="where")
    log.refresh()
    snapshot = log.snapshot()
    check_allowed_mapping(snapshot.column_mapping_mode, snapshot.metadata, snapshot.version)
    stored = stored_files(log, now, check_cancelled)
    plan = search_plan(log, stored, predicates.values())
    results = search(plan.groups)
    other_tables = neighbours_of(log, others, check_cancelled)
    version = snapshot.version
    basis = Basis(
        table=log.location,
        table_id=snapshot.metadata.id,
        version=version,
        now=now,
        chain_head=log.commit_seal(version).chain_head if version in log.listing.commits else None,
        program=VERSION,
        stored=stored,
        results=results,
        looked_in=looked_in,
    )
    proofs = {}
    for request, where in predicates.items():
        columns = named_columns(snapshot, where)
        padded = any(padded_lengths(field) for field in snapshot.schema.fields if field.name in columns)
        constants = constants_of(where, plan.columns, padded=padded)
        traces = LogTraces((), 0, ((LOG_FOLDER, _NO_CONSTANT),))
        if constants:
            traces = _traces(log, where, constants, now, check_cancelled, collated=_is_collated(snapshot, columns))
        unchecked = plan.unanswered_for(columns)
        proofs[request] = erasure(
            basis, snapshot, (request, where), traces, unchecked, other_tables=related(other_tables, columns)
        )
    return proofs


def _is_collated(snapshot: Snapshot, columns: Sequence[str]) -> bool:
    """Return whether texts of some columns are compared by a collation."""
    fields = (field for field in snapshot.schema.fields if field.name in columns)
    return any(COLLATIONS in field.metadata for _, field in walk(StructType(tuple(fields))))


def _traces(
    log: DeltaLog,
    where: str,
    constants: Constants,
    now: int,
    check_cancelled: Callable[[], None],
    *,
    collated: bool,
) -> LogTraces:
    """Return the matches of the constants in the log; if these are not sufficient, also of matching values."""
    if only_equalities(where) and not collated:
        return log_traces(log, constants, now, check_cancelled)
    condition = value_condition(where, log.snapshot(), logged_columns(log))
    if isinstance(condition, ValueCondition):
        return log_traces(log, constants, now, check_cancelled, condition=condition)
    traces = log_traces(log, constants, now, check_cancelled)
    missed = (*traces.unanswered, (LOG_FOLDER, f"{_OTHER_VALUES} ({condition})"))
    return msgspec.structs.replace(traces, unanswered=missed)


def erasure_job(
    log: DeltaLog,
    predicates: Mapping[str, str],
    now: datetime,
    *,
    others: Iterable[Neighbour] = (),
    looked_in: tuple[str, ...] = (),
) -> Job[dict[str, Erasure]]:
    """Begin to search the stored copies of the rows that match.

    Args:
        log: The table's log.
        predicates: SQL by name.
        now: The present, with a zone.
        others, looked_in: As in `prove_erasure`.

    Raises:
        EngineUnavailable: Spark is missing.
    """
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.checks.file_search import search_files
    from explorer.spark.engine.job import submit

    def work(job: Job[dict[str, Erasure]]) -> dict[str, Erasure]:
        job.report("Reading the log and the folder")
        return prove_erasure(
            log,
            predicates,
            milliseconds(now),
            lambda groups: search_files(job, log, log.snapshot(), groups, predicates),
            job.check_cancelled,
            others=others,
            looked_in=looked_in,
        )

    return submit(f"Erasure proof of {log.name}", work, "; ".join(predicates.values()))
