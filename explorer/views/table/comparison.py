"""Two versions side by side: totals, the files that differ, and what changed in schema, protocol and properties."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.versions.commits.summary import CommitSummary
from explorer.core.versions.diff import ColumnChange, DiffTotals, PropertyChange, ProtocolChange
from explorer.views.listing import Listing, ListingColumn, partition_words
from explorer.views.table.facts import TableFacts
from explorer.views.table.files import partition_keys

CHANGES = ("added", "removed", "remasked")
FORM = "\u25c7"
"""The sign of a schema, a protocol or properties that changed."""
SIGNS = {"added": "+", "removed": "\u2212", "remasked": "~"}
_COLUMNS = (
    ListingColumn("sign", "", "sign"),
    ListingColumn("path", "path", "path"),
    ListingColumn("partition", "partition", "text"),
    ListingColumn("num_records", "rows", "rows"),
    ListingColumn("size", "size", "size"),
    ListingColumn("masked", "masked", "gained"),
    ListingColumn("happened", "change", "text"),
)


_NAME = 18
_LONGEST_COUNT = 18


@dataclass(frozen=True, slots=True)
class FormChange:
    """A change of schema or properties: its sign, its subject, and the change in words."""

    sign: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the diff of two versions shows; ``files`` holds every file that differs."""

    from_version: int
    to_version: int
    totals: DiffTotals
    files: Listing
    counts: dict[str, int]
    schema: tuple[FormChange, ...]
    protocol: ProtocolChange | None
    properties: tuple[FormChange, ...]
    commits: tuple[CommitSummary, ...]
    commits_between: int

    @property
    def net_rows(self) -> int | None:
        """Live rows gained from the one version to the other; None if a count is not known."""
        totals = self.totals
        if totals.rows_added is None or totals.rows_removed is None:
            return None
        return totals.rows_added - totals.rows_removed - totals.rows_masked

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.files.total or self.schema or self.protocol or self.properties)


def comparison_of(facts: TableFacts, from_version: int, to_version: int) -> Comparison:
    """Compare two versions; the first may be the later one."""
    key = ("comparison", from_version, to_version)
    return facts.keep(key, lambda: _compare(facts, from_version, to_version))


def form_listing(facts: TableFacts, comparison: Comparison) -> Listing:
    """Return the changes of schema and properties as a list."""
    changes = [("schema", change) for change in comparison.schema]
    changes += [("properties", change) for change in comparison.properties]
    table = pa.table(
        {
            "of": pa.array([of for of, _ in changes], pa.string()),
            "sign": pa.array([change.sign for _, change in changes], pa.string()),
            "subject": pa.array([change.subject for _, change in changes], pa.string()),
            "detail": pa.array([change.detail for _, change in changes], pa.string()),
        }
    )
    columns = tuple(ListingColumn(name, name) for name in table.column_names)
    return Listing(f"{facts.name}-v{comparison.from_version}-v{comparison.to_version}-changes", columns, table)


def _compare(facts: TableFacts, from_version: int, to_version: int) -> Comparison:
    diff = facts.diff(from_version, to_version)
    partition_columns = partition_keys(facts.snapshot(to_version))
    columns = tuple(c for c in _COLUMNS if c.key != "partition" or partition_columns)
    if partition_columns:
        columns = tuple(replace(c, kind="name") if c.key == "path" else c for c in columns)
    low, high = sorted((from_version, to_version))
    return Comparison(
        from_version=from_version,
        to_version=to_version,
        totals=diff.totals,
        files=Listing(
            f"{facts.name}-v{from_version}-v{to_version}-files",
            columns,
            _rows(diff.files, partition_columns, forward=from_version <= to_version),
            ("path", "partition", "happened"),
        ),
        counts={change: int(pc.sum(pc.equal(diff.files.column("change"), change)).as_py() or 0) for change in CHANGES},
        schema=tuple(_column_change(change) for change in diff.schema),
        protocol=diff.protocol,
        properties=tuple(_property_change(change) for change in (*diff.attributes, *diff.properties)),
        commits=tuple(facts.commits.records(low, high, 12)),
        commits_between=high - low,
    )


def _rows(files: pa.Table, partition_columns: tuple[tuple[str, str], ...], *, forward: bool) -> pa.Table:
    change = files.column("change")
    before, after = files.column("dv_cardinality_before"), files.column("dv_cardinality_after")
    had, has = pc.fill_null(before, 0), pc.fill_null(after, 0)
    masked = pc.if_else(pc.equal(change, "remasked"), pc.subtract(has, had), pc.if_else(pc.equal(has, 0), had, has))
    signs = pc.if_else(
        pc.equal(change, "added"),
        SIGNS["added"],
        pc.if_else(pc.equal(change, "removed"), SIGNS["removed"], SIGNS["remasked"]),
    )
    partition = partition_words(files.column("partition_values"), partition_columns)
    return pa.table(
        {
            "sign": signs,
            "change": change,
            "path": files.column("path"),
            "partition": partition,
            "num_records": files.column("num_records"),
            "size": files.column("size"),
            "masked": pc.if_else(pc.equal(masked, 0), None, masked),
            "happened": _happened(files, partition, had, has, forward=forward),
        }
    )


def _happened(
    files: pa.Table, partition: pa.ChunkedArray, had: pa.ChunkedArray, has: pa.ChunkedArray, *, forward: bool
) -> pa.ChunkedArray:
    """Return in words what the commit did to each file; for a reversed range, what going back undoes."""
    change, at = files.column("change"), _text("v", files.column("version"))
    added, removed = pc.equal(change, "added"), pc.equal(change, "removed")
    rewritten = pc.and_(pc.invert(pc.fill_null(files.column("data_change"), True)), pc.or_(added, removed))
    others, only = _counterparts(files, partition)
    into = pc.if_else(
        pc.equal(others, 1), _text(pc.utf8_slice_codeunits(only, 0, _NAME), "\u2026"), _text("", others, " files")
    )
    moved = _text("rows masked ", _count(had), " \u2192 ", _count(has), " at ", at)
    if not forward:
        words = pc.if_else(added, _text("removed at ", at), _text("added at ", at))
        return pc.if_else(pc.or_(added, removed), words, moved)
    new = _text("new at ", at, pc.if_else(pc.equal(has, 0), "", _text(", ", _count(has), " of its rows masked")))
    removal = pc.if_else(
        pc.equal(others, 0),
        _text("removed at ", at),
        _text("removed at ", at, ", replaced by ", others, pc.if_else(pc.equal(others, 1), " new file", " new files")),
    )
    masked = pc.if_else(
        added,
        _text("rewritten at ", at, " from ", into, ", no row changed"),
        _text("rewritten at ", at, " into ", into, ", no row changed"),
    )
    plain = pc.if_else(pc.equal(others, 0), _text("rewritten at ", at, ", no row changed"), masked)
    return pc.if_else(rewritten, plain, pc.if_else(added, new, pc.if_else(removed, removal, moved)))


def _counterparts(files: pa.Table, partition: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the number of counterparts of each file in its commit and partition, and the name of one."""
    rows = pa.table(
        {
            "place": pa.array(range(files.num_rows), pa.int64()),
            "kind": files.column("change"),
            "version": files.column("version"),
            "partition": partition,
            "name": pc.replace_substring_regex(files.column("path"), ".*/", ""),
        }
    )
    groups = rows.group_by(["kind", "version", "partition"]).aggregate([("place", "count"), ("name", "min")])
    other = {"added": "removed", "removed": "added", "remasked": "remasked"}
    kinds = pa.array([other[kind] for kind in groups.column("kind").to_pylist()], pa.string())
    groups = groups.set_column(groups.schema.get_field_index("kind"), "kind", kinds)
    keys = ["kind", "version", "partition"]
    joined = rows.drop_columns(["name"]).join(groups, keys).sort_by("place")
    return pc.fill_null(joined.column("place_count"), 0), pc.fill_null(joined.column("name_min"), "")


def _text(*parts: object) -> pa.ChunkedArray:
    """Return texts and columns, joined; numbers as text."""
    texts = [part if isinstance(part, str) else pc.cast(part, pa.string()) for part in parts]
    return pc.binary_join_element_wise(*texts, "")


def _count(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers as text, with a comma before each three digits."""
    texts = pc.cast(numbers, pa.string())
    for _ in range(_LONGEST_COUNT // 3):
        texts = pc.replace_substring_regex(texts, r"(\d)(\d{3})(,|$)", r"\1,\2\3")
    return texts


def _column_change(change: ColumnChange) -> FormChange:
    before, after = _described(change.before), _described(change.after)
    match change.kind:
        case "added":
            return FormChange("+", change.column, after)
        case "dropped":
            return FormChange("\u2212", change.column, f"dropped, was {before}")
        case "renamed":
            return FormChange(
                FORM,
                f"{before} \u2192 {after}",
                "renamed" + (f", field {change.field_id}" if change.field_id is not None else ""),
            )
        case _:
            return FormChange(FORM, change.column, f"{change.kind}: {before} \u2192 {after}")


def _described(value: object) -> str:
    return "none" if value is None else fmt.value_text(value, 120)


def _property_change(change: PropertyChange) -> FormChange:
    if change.before is None:
        return FormChange("+", change.key, fmt.value_text(change.after, 400))
    if change.after is None:
        return FormChange("\u2212", change.key, f"was {fmt.value_text(change.before, 400)}")
    return FormChange(
        FORM, change.key, f"{fmt.value_text(change.before, 200)} \u2192 {fmt.value_text(change.after, 200)}"
    )
