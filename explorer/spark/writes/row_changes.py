"""Rows that an update or a merge changes: searched, checked and written by Spark.

Every change is one frame with the values of a row before and after it; what an update and a merge differ in is how
this frame is made. Protocol sections: Deletion Vectors, Add CDC File, Row Tracking, Generated Columns, Default Columns,
Identity Columns. Invariants: expressions are vetted before anything is evaluated; a row of the table changes at most
once in a commit; the rules are judged over exactly the new rows; a row keeps its id, and gets a new commit version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as sf

from explorer.core.errors import ExplorerError, ExpressionRefused
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.protocol.schema.field_metadata import GENERATION_EXPRESSION, IDENTITY_START
from explorer.core.protocol.sql.vetting import check_text
from explorer.core.transaction.intents.records import Merge, MergeClause, Update, merge_clauses
from explorer.core.transaction.new_files.file_facts import NewFileFacts, Numbering, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule, default_guards, generated_expression, row_rules
from explorer.core.transaction.proposal import GuardResult, RowCounts, Written
from explorer.core.transaction.row_engine import MatchedChanges
from explorer.data_files.written_files import WrittenFiles
from explorer.spark.engine.deadline import limited
from explorer.spark.engine.expressions import expression
from explorer.spark.engine.failures import PLANNING_ERRORS, SPARK_ERRORS, failure_of
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.scan.compared import as_compared
from explorer.spark.scan.physical import quoted, spark_type
from explorer.spark.scan.results import Reading
from explorer.spark.scan.scan import scan
from explorer.spark.writes.assigned_values import AssignedValues
from explorer.spark.writes.column_values import check_casts
from explorer.spark.writes.incoming import rule_guard, rule_texts
from explorer.spark.writes.matching_rows import rows_of_bitmaps
from explorer.spark.writes.new_rows import NewRows, breaks_rules, broken_rules, id_columns, write_files
from explorer.spark.writes.rewrites import chosen_files, recorded_inserts
from explorer.spark.writes.source import refusal, source_frame, unchanged_guard
from explorer.spark.writes.source_files import NOT_FROM_FILES, FileStates, SourcePlace
from explorer.spark.writes.stored_expressions import Evaluated, evaluated, fault_of

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

# Names of the table may be anything, even these, so no column of the table has its own name among them.
_DO: Final = "__explorer_do"
_CLAUSE: Final = "__explorer_clause"
_FILE: Final = "__explorer_file"
_ROW: Final = "__explorer_row"
_ROW_ID: Final = "__explorer_row_id"
_BEFORE: Final = "__explorer_before"
_AFTER: Final = "__explorer_after"
_TARGET: Final = "__explorer_target"
_SOURCE: Final = "__explorer_source"
_UPDATED: Final = ("update", "update alone")
_DELETED: Final = ("delete", "delete alone")
_INSERTED: Final = "insert"
_KINDS: Final = ("update", "delete", "update alone", "delete alone", _INSERTED)
"""What may happen to a row, in the order of `RowCounts`."""
_SAMPLES: Final = 5
_WHICH: Final = "__explorer_which"


@dataclass(frozen=True, slots=True)
class _Changes:
    """Every row that changes.

    Attributes:
        frame: What happens to the row and by which clause; file, place and id of the row of the table, null for one
            that is inserted; then its values before and those after, each in the order of the schema.
        schema: The table's schema.
        rules: The rules of the new rows.
        failure: The typed error for what running it raised.
        inserts: The columns that each clause that inserts gives a value, by the clause's place.
        source_rows: Rows of the source of a merge.
        deletes_always: Every match is deleted, so several of them for a row are one.
        source: The source of a merge.
        files: The files there, as they were when the changes were planned.
        which: A number that stands for the rows of the table that get new values.
        made: The values of the generated columns, over the rows before they have these values.
    """

    frame: DataFrame
    schema: StructType
    rules: tuple[RowRule, ...]
    failure: Callable[[Exception], ExplorerError]
    inserts: Mapping[int, frozenset[str]]
    source_rows: int | None = None
    deletes_always: bool = False
    source: SourcePlace = NOT_FROM_FILES
    files: FileStates = ()
    which: int = 0
    made: tuple[Evaluated, ...] = ()

    def numbered(self, columns: Sequence[Numbering]) -> dict[tuple[Numbering, ...], list[int]]:
        """Return the clauses that insert rows without a value for some identity columns, by these columns."""
        clauses: dict[tuple[Numbering, ...], list[int]] = {}
        for clause, given in self.inserts.items():
            lacking = tuple(one for one in columns if one.column not in given)
            if lacking:
                clauses.setdefault(lacking, []).append(clause)
        return clauses

    def new_rows(self, seen: Observation, chosen: Column) -> DataFrame:
        """Return rows after the change, logical names, with ids; which rows of the table they replace is observed."""
        frame = self.frame.where(chosen & ~sf.col(_DO).isin(*_DELETED)).observe(seen, _which().alias(_WHICH))
        nothing = sf.lit(None).cast("long").alias("_row_commit_version")
        return frame.select(*_named(self.schema, _AFTER), sf.col(_ROW_ID).alias("_row_id"), nothing)

    def change_rows(self, chosen: Column) -> DataFrame:
        """Return the rows that the change feed records: logical names and ``_change_type``."""

        def recorded(kind: str, side: str) -> Column:
            return sf.struct(*_named(self.schema, side), sf.lit(kind).alias("_change_type"))

        do = sf.col(_DO)
        both = sf.array(recorded("update_preimage", _BEFORE), recorded("update_postimage", _AFTER))
        rows = sf.when(do.isin(*_UPDATED), both).when(do.isin(*_DELETED), sf.array(recorded("delete", _BEFORE)))
        frame = self.frame.where(chosen)
        if self.deletes_always:
            old = sf.col(_FILE).isNotNull()
            frame = frame.where(old).dropDuplicates([_FILE, _ROW]).unionByName(frame.where(~old))
        return frame.select(sf.inline(rows.otherwise(sf.array(recorded("insert", _AFTER)))))


@limited(lambda _log, _snapshot, intent, *_, **__: _texts_of(intent))
def find_changes(
    log: DeltaLog, snapshot: Snapshot, intent: Update | Merge, source: object, doubted: Collection[str] = ()
) -> MatchedChanges:
    """Find the rows that change, count them, and judge the new ones; see `RowEngine.find_changes`."""
    if isinstance(intent, Update):
        changes = _updates(log, snapshot, intent, doubted)
    else:
        changes = _merged(log, snapshot, intent, source)
    try:
        matched = _counted(changes)
    except SPARK_ERRORS as error:
        raise _fault(changes) or changes.failure(error) from error
    except ExpressionRefused as error:
        raise _fault(changes) or error from error
    if not isinstance(intent, Update) and matched.counts.inserted:
        guards = (*matched.guards, *default_guards(snapshot, matched.given, matched.counts.inserted))
        matched = msgspec.structs.replace(matched, guards=guards)
    return matched


def _fault(changes: _Changes) -> ExplorerError | None:
    """Return the expression of the table for which a pass over changes failed; None where something else did."""
    generated = {one.stored.column for one in changes.made}
    plain = [
        place for place, field in enumerate(changes.schema.fields) if format_column((field.name,)) not in generated
    ]
    rows = changes.frame.where(~sf.col(_DO).isin(*_DELETED))
    sound = [sf.col(f"{_AFTER}{place}") for place in plain]
    return fault_of(rows, sound, changes.made, rows.select(*_named(changes.schema, _AFTER)), changes.rules)


@limited(lambda _log, snapshot, *_, **__: rule_texts(snapshot))
def write_changes(
    log: DeltaLog,
    snapshot: Snapshot,
    matched: MatchedChanges,
    touched: Sequence[Touched],
    layout: FileLayout,
    *,
    numbered: Sequence[Numbering],
    masked: bool,
    recorded: bool,
) -> Written:
    """Write the new rows, the rows that stay where files are rewritten, and the changes; see `RowEngine`."""
    changes, counts = matched.source, matched.counts
    assert isinstance(changes, _Changes), "another engine planned these changes"
    staying = 0 if masked else sum(file.rows_left for file in touched)
    writer = _ChangeWriter(
        log, snapshot, changes, counts, layout, changes.numbered(numbered) if counts.inserted else {}
    )
    made = writer.write_others(touched, staying)
    fresh = writer.write_numbered()
    feed = writer.record([each.written for each in fresh]) if recorded else ()
    parts = (*made, *fresh)
    total = sum(each.written.rows for each in parts)
    which = sum(each.replaced.get[_WHICH] or 0 for each in parts if each.replaced is not None)
    wanted = (counts.new + staying, writer.num_recorded if recorded else 0, changes.which, changes.files)
    now = (total, sum(file.rows for file in feed), which, changes.source.states())
    broken = [one for each in parts for one in broken_rules(changes.rules, each.written)]
    return Written(
        tuple(layout.add_of(file) for each in parts for file in each.written.files),
        tuple(map(layout.change_of, feed)),
        total,
        _marks(fresh),
        (
            *(rule_guard(rule, count, total) for rule, count in broken),
            *unchanged_guard(wanted, now, "its files, its rows, or the rows of the table that they change"),
        ),
    )


@dataclass(frozen=True, slots=True)
class _WrittenPart:
    """New files, and what is observed of the rows of the table that rows in them replace; None if they replace none."""

    written: WrittenFiles
    replaced: Observation | None


@dataclass(frozen=True, slots=True)
class _ChangeWriter:
    """Writes the changes of a version into new files.

    Attributes:
        to_number: The clauses that insert rows without a value for some identity columns, by these columns.
    """

    log: DeltaLog
    snapshot: Snapshot
    changes: _Changes
    counts: RowCounts
    layout: FileLayout
    to_number: Mapping[tuple[Numbering, ...], list[int]]

    @property
    def num_recorded(self) -> int:
        """How many rows the change feed gets."""
        return self.counts.all + self.counts.updated + self.counts.updated_alone

    def write_others(self, touched: Sequence[Touched], staying: int) -> tuple[_WrittenPart, ...]:
        """Write the new rows whose identity columns are not to be filled, with the rows that stay.

        Args:
            touched: The files with rows that change or go.
            staying: How many rows of them are written, too.
        """
        # How many rows come of each clause is not known: no more than all that are inserted.
        rows = self.counts.new - (self.counts.inserted if self._numbers_all else 0)
        replaced = Observation() if rows else None
        frames = [] if replaced is None else [self.changes.new_rows(replaced, ~self._is_numbered())]
        if staying:
            frames.append(_staying(self.log, self.snapshot, touched, tracked=self.snapshot.row_tracking.enabled))
        if not frames:
            return ()
        return (_WrittenPart(self._written(reduce(DataFrame.unionByName, frames), (), rows + staying), replaced),)

    def write_numbered(self) -> tuple[_WrittenPart, ...]:
        """Write the inserted rows whose identity columns are filled; each group goes on after the one before."""
        parts: tuple[_WrittenPart, ...] = ()
        for columns, clauses in self.to_number.items():
            replaced, marks = Observation(), _marks(parts)
            rows = self.changes.new_rows(replaced, _inserted_by(clauses))
            on = [_from_mark(one, marks) for one in columns]
            parts = (*parts, _WrittenPart(self._written(rows, on, self.counts.inserted), replaced))
        return parts

    def record(self, numbered: Sequence[WrittenFiles]) -> tuple[NewFileFacts, ...]:
        """Write what the change feed gets; inserted rows with the values that were filled in them."""
        adds = tuple(self.layout.add_of(file) for each in numbered for file in each.files)
        written = Written(adds, rows=sum(each.rows for each in numbered))
        feed = recorded_inserts(self.log, self.snapshot, written, self.layout)
        others = self.num_recorded - sum(file.rows for file in feed)
        if not others:
            return feed
        planned = Reading(self.changes.change_rows(~self._is_numbered()), self.changes.failure)
        return feed + write_files(self.log.store, self.layout, NewRows(planned, rows=others, changes=True)).files

    def _written(self, frame: DataFrame, numbered: Sequence[Numbering], rows: int) -> WrittenFiles:
        planned = Reading(frame, self.changes.failure)
        new = NewRows(planned, id_columns(self.snapshot), self.changes.rules, numbered, rows)
        return write_files(self.log.store, self.layout, new)

    @property
    def _numbers_all(self) -> bool:
        """Whether identity columns are filled in the rows of every clause that inserts."""
        return sum(map(len, self.to_number.values())) == len(self.changes.inserts)

    def _is_numbered(self) -> Column:
        """Return whether identity columns are filled in a row."""
        return _inserted_by([clause for clauses in self.to_number.values() for clause in clauses])


def _marks(parts: Sequence[_WrittenPart]) -> dict[str, int]:
    """Return the furthest values in the identity columns that were filled; later parts go on after earlier ones."""
    return {column: mark for part in parts for column, mark in part.written.marks.items()}


def _inserted_by(clauses: Sequence[int]) -> Column:
    """Return whether a row is inserted by one of these clauses."""
    return (sf.col(_DO) == _INSERTED) & sf.col(_CLAUSE).isin(*clauses) if clauses else sf.lit(False)


def _from_mark(one: Numbering, marks: Mapping[str, int]) -> Numbering:
    """Return the numbering, after the values that other rows of this commit got."""
    mark = marks.get(one.column)
    return one if mark is None else msgspec.structs.replace(one, first=mark + one.step)


def _staying(log: DeltaLog, snapshot: Snapshot, touched: Sequence[Touched], *, tracked: bool) -> DataFrame:
    """Return the rows of rewritten files that neither change nor go."""
    wanted = {file.add.path: file for file in touched if not file.is_emptied}
    hidden = {path: file.matched for path, file in wanted.items()}
    frame = scan(log, snapshot, chosen_files(snapshot, wanted), row_identity=tracked, hidden=hidden).frame
    if not tracked:
        nothing = sf.lit(None).cast("long")
        return frame.withColumns({"_row_id": nothing, "_row_commit_version": nothing})
    return frame.drop("_file", "_row_index")


def _updates(log: DeltaLog, snapshot: Snapshot, intent: Update, doubted: Collection[str]) -> _Changes:
    matches = scan(log, snapshot, where=intent.where, row_identity=True, doubted=doubted)
    session, schema = matches.frame.sparkSession, snapshot.schema
    check_casts(session)
    try:
        after, assigned = AssignedValues(matches.frame.alias("target"), snapshot).after(intent.set, "set")
        before = [sf.col(quoted(field.name)) for field in schema.fields]
        frame = matches.frame.alias("target").select(
            sf.lit("update").alias(_DO), sf.lit(0).alias(_CLAUSE), *_identity(""), *_sides(before, after)
        )
        frame, made = _with_generated(frame, schema, [assigned])
    except PLANNING_ERRORS as error:
        raise _unfit(error, "set") from error
    assignments = ", ".join(f"{name} = {text}" for name, text in intent.set.items())
    failure = _failure(matches.addresses, snapshot, assignments)
    return _Changes(frame, schema, tuple(row_rules(snapshot)), failure, {}, made=made)


def _merged(log: DeltaLog, snapshot: Snapshot, intent: Merge, source: object) -> _Changes:
    place = SourcePlace.of(source)
    files = place.states()
    target_rows = scan(log, snapshot, row_identity=True)
    session, schema, clauses = target_rows.frame.sparkSession, snapshot.schema, merge_clauses(intent)
    check_casts(session)
    for text in (intent.on, *(clause.when for clause in clauses if clause.when is not None)):
        check_text(text)
    try:
        given = source_frame(session, place)
        target = as_compared(target_rows.frame, schema).withColumn(_TARGET, sf.lit(True)).alias("target")
        other = given.withColumn(_SOURCE, sf.lit(True)).alias("source")
        joined = target.join(other, expression(target.crossJoin(other), intent.on), _join_kind(clauses))
        values = AssignedValues(joined, snapshot, lenient=intent.merge_schema)
        sides = [values.of_clause(clause, given.columns) for clause in clauses]
        after = [
            _chosen([side[place] for side, _ in sides]).cast(spark_type(field.type))
            for place, field in enumerate(schema.fields)
        ]
        before = [sf.col(f"target.{quoted(field.name)}") for field in schema.fields]
        decided = _decided(joined, clauses)
        does = _chosen([sf.lit(_what(clause)) for clause in clauses])
        frame = decided.where(sf.col(_CLAUSE).isNotNull()).select(
            does.alias(_DO), sf.col(_CLAUSE), *_identity("target."), *_sides(before, after)
        )
        frame, made = _with_generated(frame, schema, [assigned for _, assigned in sides])
        rows = given.count()
    except PLANNING_ERRORS as error:
        raise _unfit(error, "on") from error
    matched = [clause for clause in clauses if clause.group == "matched"]
    deletes = len(matched) == 1 and matched[0].action == "delete" and matched[0].when is None
    rules, failure = tuple(row_rules(snapshot)), _failure(target_rows.addresses, snapshot, intent.on)
    assigned = {place: names for place, (_, names) in enumerate(sides) if clauses[place].action == "insert"}
    inserts = {place: frozenset(names) for place, names in assigned.items()}
    return _Changes(frame, schema, rules, failure, inserts, rows, deletes, place, files, made=made)


def _join_kind(clauses: Sequence[MergeClause]) -> str:
    groups = {clause.group for clause in clauses}
    match "notMatched" in groups, "notMatchedBySource" in groups:
        case True, True:
            return "full_outer"
        case True, False:
            return "right_outer"
        case False, True:
            return "left_outer"
        case _:
            return "inner"


def _decided(joined: DataFrame, clauses: Sequence[MergeClause]) -> DataFrame:
    """Return the rows with the place of the first clause that applies, null where none does."""
    target, source = sf.col(_TARGET).isNotNull(), sf.col(_SOURCE).isNotNull()
    applies = {"matched": target & source, "notMatched": ~target & source, "notMatchedBySource": target & ~source}
    decision: Any = sf
    for place, clause in enumerate(clauses):
        wanted = applies[clause.group]
        if clause.when is not None:
            wanted = wanted & sf.coalesce(expression(joined, clause.when), sf.lit(False))
        decision = decision.when(wanted, sf.lit(place))
    return joined.withColumn(_CLAUSE, decision)


def _chosen(values: Sequence[Column]) -> Column:
    """Return the value of the clause that applies."""
    cases: Any = sf
    for place, value in enumerate(values):
        cases = cases.when(sf.col(_CLAUSE) == place, value)
    chosen: Column = cases
    return chosen


def _what(clause: MergeClause) -> str:
    alone = " alone" if clause.group == "notMatchedBySource" else ""
    return clause.action + alone


def _identity(prefix: str) -> list[Column]:
    names = {"_file": _FILE, "_row_index": _ROW, "_row_id": _ROW_ID}
    return [sf.col(f"{prefix}{source}").alias(name) for source, name in names.items()]


def _sides(before: Sequence[Column], after: Sequence[Column]) -> list[Column]:
    named = [(_BEFORE, before), (_AFTER, after)]
    return [value.alias(f"{side}{place}") for side, values in named for place, value in enumerate(values)]


def _with_generated(
    frame: DataFrame, schema: StructType, assigned: Sequence[set[str]]
) -> tuple[DataFrame, tuple[Evaluated, ...]]:
    """Compute generated columns from the new values, where their clause does not assign them."""
    texts = {
        place: generated_expression(field, schema)
        for place, field in enumerate(schema.fields)
        if GENERATION_EXPRESSION in field.metadata
    }
    if not texts:
        return frame, ()
    over = frame.select("*", *(sf.col(f"{_AFTER}{place}").alias(f.name) for place, f in enumerate(schema.fields)))
    made_of = {place: evaluated(stored, over) for place, stored in texts.items()}
    columns = []
    for name in frame.columns:
        place = int(name.removeprefix(_AFTER)) if name.startswith(_AFTER) else -1
        value = sf.col(name)
        if place in texts:
            field = schema.fields[place]
            given = [clause for clause, names in enumerate(assigned) if field.name in names]
            made = made_of[place].value.cast(spark_type(field.type))
            value = sf.when(sf.col(_CLAUSE).isin(given), value).otherwise(made) if given else made
        columns.append(value.alias(name))
    return over.select(*columns), tuple(made_of.values())


def _counted(changes: _Changes) -> MatchedChanges:
    """Count in one pass which rows change, how many, and how many of the new ones break a rule."""
    new = changes.frame.select("*", *_named(changes.schema, _AFTER))
    place = sf.col(_ROW) + 1
    numbered = frozenset(field.name for field in changes.schema.fields if IDENTITY_START in field.metadata)
    judged = [rule for rule in changes.rules if not (rule.kind == "not-null" and rule.name in numbered)]
    is_new = ~sf.col(_DO).isin(*_DELETED)
    broken = breaks_rules(new, judged)
    counts = [sf.count_if(is_new & breaks).alias(f"rule{number}") for number, breaks in enumerate(broken)]
    # A value that cannot be cast fails here, before anything is written.
    sides = [f"{_AFTER}{number}" for number in range(len(changes.schema.fields))]
    forced = [sf.count_if(sf.col(name).isNull()).alias(name) for name in sides]
    grouped = (
        new.withColumn("place", place)
        .groupBy(_FILE, sf.bitmap_bucket_number("place").alias("bucket"), _DO)
        .agg(
            sf.bitmap_construct_agg(sf.bitmap_bit_position("place")).alias("bits"),
            sf.count(sf.lit(1)).alias("rows"),
            *counts,
            *forced,
            _which(is_new).alias(_WHICH),
        )
    )
    groups = grouped.toArrow().to_pylist()
    totals: dict[str, int] = {}
    for row in groups:
        totals[row[_DO]] = totals.get(row[_DO], 0) + row["rows"]
    old = [row for row in groups if row[_FILE] is not None]
    matched = rows_of_bitmaps([(row[_FILE], row["bucket"], row["bits"]) for row in old])
    after = new.where(is_new).select(*(sf.col(quoted(field.name)) for field in changes.schema.fields))
    guards = [
        rule_guard(rule, sum(row[f"rule{number}"] for row in groups), sum(totals.values()), after)
        for number, rule in enumerate(judged)
    ]
    rows, distinct = sum(row["rows"] for row in old), sum(len(places) for places in matched.values())
    if rows != distinct:
        deleted_alone = set(totals) <= {*_DELETED, _INSERTED} and changes.deletes_always
        if not deleted_alone:
            guards.append(_ambiguous(changes, rows - distinct))
        totals |= {kind: _distinct(row for row in old if row[_DO] == kind) for kind in {row[_DO] for row in old}}
    numbers = [totals.get(name, 0) for name in _KINDS]
    counted = msgspec.structs.replace(RowCounts(*numbers), source=changes.source_rows)
    planned = replace(changes, which=sum(row[_WHICH] for row in groups))
    given = [field.name for field in changes.schema.fields if _given_always(changes, field.name)]
    content = changes.source.content(changes.files)
    return MatchedChanges(matched, counted, tuple(guards), planned, tuple(given), content)


def _distinct(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return how many rows of the table bitmaps of one kind of change name, each once."""
    return sum(map(len, rows_of_bitmaps([(row[_FILE], row["bucket"], row["bits"]) for row in rows]).values()))


def _given_always(changes: _Changes, name: str) -> bool:
    return all(name in names for names in changes.inserts.values())


def _which(chosen: Column | None = None) -> Column:
    """Return a number that stands for some rows of the table and what is done with them: the sum of their hashes."""
    number = sf.shiftrightunsigned(sf.xxhash64(_FILE, _ROW, _DO), 32)
    return sf.sum(number if chosen is None else sf.when(chosen, number).otherwise(sf.lit(0)))


def _ambiguous(changes: _Changes, surplus: int) -> GuardResult:
    """Return some row of the table matches several rows of the source, so its new values are ambiguous."""
    old = changes.frame.where(sf.col(_FILE).isNotNull())
    was = sf.first(sf.struct(*_named(changes.schema, _BEFORE)))
    twice = (
        old.groupBy(_FILE, _ROW)
        .agg(sf.count(sf.lit(1)).alias("matches"), was.alias("was"))
        .where(sf.col("matches") > 1)
    )
    samples = twice.select("matches", sf.to_json("was").alias("was")).limit(_SAMPLES).collect()
    rows = [f"{row['was']} ({row['matches']} matches)" for row in samples]
    detail = f"Several rows of the source match one row of the table, {surplus:,} too many: {'; '.join(rows)}."
    return GuardResult(
        "one-match-each",
        "fail",
        {"rows": rows, "surplus": surplus, "detail": detail},
        "Leave one row of the source for each row of the table, or narrow the condition.",
    )


def _named(schema: StructType, side: str) -> list[Column]:
    return [sf.col(f"{side}{place}").alias(field.name) for place, field in enumerate(schema.fields)]


def _failure(addresses: Sequence[FileAddress], snapshot: Snapshot, text: str) -> Callable[[Exception], ExplorerError]:
    return lambda error: failure_of(error, addresses, snapshot.version, text)


def _unfit(error: Exception, field: str) -> ExplorerError:
    return refusal(error, "The expressions do not fit the table or the source", field)


def _texts_of(intent: Update | Merge) -> str:
    """Return the expressions of an update, or the condition of a merge, as one text."""
    return intent.on if isinstance(intent, Merge) else "; ".join((intent.where or "", *intent.set.values()))
