"""No file that holds a matching row is ever dropped, whatever its statistics leave out or widen."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.core.protocol.actions import Add, Metadata
from tests.support.logs.small_logs import MASKED, table, vector

Row = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = ["", "a", "ab", "abc", "abd", "b", "ä", "äz", "\U0001f600", "a\uffff", "Z"]
KINDS = {
    "i": "long",
    "f": "double",
    "s": "string",
    "t": "timestamp",
    "n": "decimal(38,2)",
    "b": "boolean",
    "p": "integer",
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.sampled_from([-(2**63), -1, 0, 1, 2, 5, 2**53, 2**53 + 1, 2**63 - 1]),
    "f": st.sampled_from([float("-inf"), -1.5, -0.0, 0.0, 0.1, 2.0, 1e300]),
    "s": st.sampled_from(TEXTS),
    "t": st.integers(-3000, 3000).map(lambda micro: EPOCH + timedelta(microseconds=micro)),
    "n": st.sampled_from(
        [Decimal(text) for text in ("-0.01", "0", "0.01", "0.02", "123456789012345678901234567890123456.78")]
    ),
    "b": st.booleans(),
    "p": st.sampled_from([-1, 0, 7]),
}
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in KINDS.items()],
    }
)


def literal(name: str, value: Any) -> str:
    match name:
        case "s":
            return f"'{value}'"
        case "t":
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f}Z'"
        case "f":
            return "-1e999" if value == float("-inf") else f"{value:e}"
    return str(value)


# --- the plain model: a condition is SQL text and a function of a row to True, False or None --------------------------


def compared(left: Any, operator: str, right: Any) -> bool | None:
    if operator == "<=>":
        return bool(left == right)
    if left is None or right is None:
        return None
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return bool(
        {
            "=": left == right,
            "<>": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[operator]
    )


def both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def inverse(value: bool | None) -> bool | None:
    return None if value is None else not value


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[str, Any]:
    if depth and draw(st.integers(0, 2)):
        left, one = draw(conditions(depth - 1))
        match draw(st.sampled_from(["and", "or", "not"])):
            case "not":
                return f"NOT ({left})", lambda row: inverse(one(row))
            case "and":
                right, other = draw(conditions(depth - 1))
                return f"({left}) AND ({right})", lambda row: both(one(row), other(row))
            case _:
                right, other = draw(conditions(depth - 1))
                return f"({left}) or {right}", lambda row: inverse(both(inverse(one(row)), inverse(other(row))))
    return draw(leaves())


@st.composite
def leaves(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(KINDS)))
    value = draw(VALUES[name])
    match draw(st.sampled_from(["compare", "compare", "null", "in", "between", "like", "unsplittable"])):
        case "null":
            negated = draw(st.booleans())
            text = f"{name} IS {'NOT ' if negated else ''}NULL"
            return text, lambda row: (row[name] is None) is not negated
        case "in":
            values = draw(st.lists(VALUES[name] | st.none(), min_size=1, max_size=3))
            negated = draw(st.booleans())
            listed = ", ".join("NULL" if each is None else literal(name, each) for each in values)

            def among(row: Row) -> bool | None:
                found: bool | None = False
                for each in values:
                    found = inverse(both(inverse(found), inverse(compared(row[name], "=", each))))
                return inverse(found) if negated else found

            return f"{name} {'NOT ' if negated else ''}IN ({listed})", among
        case "between":
            high = draw(VALUES[name])
            text = f"{name} BETWEEN {literal(name, value)} AND {literal(name, high)}"
            return text, lambda row: both(compared(row[name], ">=", value), compared(row[name], "<=", high))
        case "like":
            return draw(likes())
        case "unsplittable":
            return "upper(s) = s", lambda row: None if row["s"] is None else row["s"].upper() == row["s"]
    operator = draw(OPERATORS)
    if draw(st.booleans()) and operator != "<=>":
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        return f"{literal(name, value)} {flipped} {name}", lambda row: compared(row[name], operator, value)
    return f"{name} {operator} {literal(name, value)}", lambda row: compared(row[name], operator, value)


@st.composite
def likes(draw: st.DrawFn) -> tuple[str, Any]:
    tail, negated = draw(st.sampled_from(["", "%", "%b", "_"])), draw(st.booleans())
    prefix = draw(VALUES["s"])

    def like(row: Row) -> bool | None:
        if row["s"] is None:
            return None
        rest = row["s"][len(prefix) :]
        fits = {"": rest == "", "%": True, "%b": rest.endswith("b"), "_": len(rest) == 1}[tail]
        return (row["s"].startswith(prefix) and fits) is not negated

    return f"s {'NOT ' if negated else ''}LIKE '{prefix}{tail}'", like


# --- statistics of rows, as writers make them ------------------------------------------------------------------------


def bound(name: str, value: Any, upper: bool) -> str | None:
    """A value as JSON: texts cut to two characters, times to milliseconds."""
    match name:
        case "s":
            cut = value[:2]
            return json.dumps(cut if not upper or cut == value else cut + "\U0010ffff")
        case "t":
            whole = EPOCH + ((value - EPOCH) // timedelta(milliseconds=1)) * timedelta(milliseconds=1)
            return json.dumps(f"{whole:%Y-%m-%dT%H:%M:%S}.{whole.microsecond // 1000:03}Z")
        case "f":
            return '"-Infinity"' if value == float("-inf") else repr(value)
        case "b":
            return json.dumps(value)
    return str(value)


def ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@st.composite
def files(draw: st.DrawFn) -> tuple[list[Row], Add]:
    """Rows that a reader sees, and the add with statistics of them and of rows that are masked."""
    partition = draw(VALUES["p"] | st.none())
    columns = {name: values | st.none() for name, values in VALUES.items() if name != "p"}
    rows = [{**draw(st.fixed_dictionaries(columns)), "p": partition} for _ in range(draw(st.integers(0, 4)))]
    masked = draw(st.integers(0, len(rows)))
    stats = draw(statistics(rows, tight=not masked)) if draw(st.integers(0, 5)) or masked else None
    found = Add(
        path=f"f{draw(st.integers(0, 10**9))}",
        partition_values={"p": None if partition is None else str(partition)},
        size=1,
        modification_time=1,
        stats=stats,
        deletion_vector=vector("v", masked) if masked else None,
    )
    return rows[masked:], found


@st.composite
def statistics(draw: st.DrawFn, rows: list[Row], *, tight: bool) -> str:
    low, high, nulls = [], [], []
    for name in (name for name in KINDS if name != "p"):
        known = sorted((row[name] for row in rows if row[name] is not None), key=ordered)
        # A masked row's value only widens the bounds; so does one that was never there.
        widened = sorted(
            [*known, *([draw(VALUES[name])] if len(known) > 0 and draw(st.booleans()) else [])], key=ordered
        )
        if len(widened) > 0 and draw(st.integers(0, 4)):
            low.append(f'"{name}":{bound(name, widened[0], False)}')
        if len(widened) > 0 and draw(st.integers(0, 4)):
            high.append(f'"{name}":{bound(name, widened[-1], True)}')
        count = len(rows) - len(known)
        if draw(st.integers(0, 4)):
            wrong = draw(st.integers(1, 9)) if count not in {0, len(rows)} and len(rows) > 10 else count
            nulls.append(f'"{name}":{wrong}')
    members = [f'"numRecords":{len(rows)}', f'"tightBounds":{json.dumps(tight)}']
    members += [
        f'"{name}":{{{",".join(part)}}}'
        for name, part in zip(("minValues", "maxValues", "nullCount"), (low, high, nulls), strict=True)
    ]
    return "{" + ",".join(members) + "}"


@pytest.mark.conformance("STATS-002", "STATS-003", "STATS-005", "STATS-007", "STATS-008", "STATS-011", "STATS-014")
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(written=st.lists(files(), min_size=1, max_size=6, unique_by=lambda file: file[1].path), condition=conditions())
def test_no_file_with_a_matching_row_is_dropped(
    written: list[tuple[list[Row], Add]], condition: tuple[str, Any]
) -> None:
    text, holds = condition
    metadata = Metadata(id="x", schema_string=SCHEMA, partition_columns=("p",))
    found = table({0: [MASKED, metadata, *(add for _, add in written)]}).snapshot().skipping(text)
    kept = dict(zip(found.files.column("path").to_pylist(), found.files.column("kept").to_pylist(), strict=True))
    for rows, add in written:
        if any(holds(row) is True for row in rows):
            assert kept[add.path], (text, add.stats)
    assert found.counts.after_statistics == sum(kept.values()) <= found.counts.after_partitions <= found.counts.total
