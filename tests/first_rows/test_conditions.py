"""Conditions judged here choose the rows that Spark chooses, over generated conditions, values, and types."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import UnsupportedFeature
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.first_rows.matching_rows import MOST_TRIED
from explorer.first_rows.row_conditions import RowCondition, judged
from explorer.first_rows.row_page import RowPosition
from explorer.spark.rows.pages import row_page
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table

ROWS: Final = 60
CONDITIONS: Final = 4_000 if WHOLE_DOSE else 120
AT_ONCE: Final = 100
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS: Final = (
    "",
    " ",
    "a",
    "A",
    "a ",
    "ab",
    "b",
    "ä",
    "a\u0308",
    "z",
    "\U0001f600",
    "\uffff",
    "10",
    "9",
    "2020-01-01",
)
DOUBLES: Final = (0.0, -0.0, 1.5, -1.5, 0.1, 1e300, -1e300, float("inf"), float("-inf"), float("nan"), 5e-324, 2.0**53)
FLOATS: Final = (0.0, -0.0, 1.5, 0.1, -0.1, float("inf"), float("nan"), 16_777_216.0, 3.4e38)
LONGS: Final = (0, 1, -1, 2, 7, 100, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
DAYS: Final = (-719_162, -1, 0, 1, 10_957, 18_262, 18_263, 2_932_896)
MOMENTS: Final = (-62_135_596_800_000_000, -1, 0, 1, 999, 1_000, 1_577_836_800_000_000, 253_402_300_799_999_999)
SMALL: Final = ("0", "0.05", "1.5", "-1.50", "9.99", "-9.99", "99.90")
LARGE: Final = ("0", "1", "-1", "12345678901234567890.123456789012345678", "99999999999999999999.999999999999999999")
KINDS: Final[dict[str, tuple[str, pa.DataType, tuple[Any, ...]]]] = {
    "b": ("byte", pa.int8(), (0, 1, -1, 127, -128)),
    "s": ("short", pa.int16(), (0, 1, -1, 2**15 - 1, -(2**15))),
    "i": ("integer", pa.int32(), (0, 1, -1, 7, 2**31 - 1, -(2**31))),
    "l": ("long", pa.int64(), LONGS),
    "f": ("float", pa.float32(), FLOATS),
    "d": ("double", pa.float64(), DOUBLES),
    "n": ("decimal(4,2)", pa.decimal128(4, 2), tuple(map(Decimal, SMALL))),
    "m": ("decimal(38,18)", pa.decimal128(38, 18), tuple(map(Decimal, LARGE))),
    "t": ("string", pa.string(), TEXTS),
    "y": ("boolean", pa.bool_(), (True, False)),
    "day": ("date", pa.date32(), DAYS),
    "at": ("timestamp", pa.timestamp("us", "UTC"), MOMENTS),
    "local": ("timestamp_ntz", pa.timestamp("us"), MOMENTS),
    "c": ("string", pa.string(), ("a", "ab", "", "abc")),
    "raw": ("binary", pa.binary(), (b"", b"a", b"\xff")),
    "p": ("string", pa.string(), ("a", "b", "B")),
    "q": ("integer", pa.int32(), (1, 2, 10)),
}


def _table(folder: Path, pick: random.Random) -> explorer.Table:
    padded = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    fields = [column("id", "long")]
    fields += [column(name, kind, **(padded if name == "c" else {})) for name, (kind, _, _) in KINDS.items()]
    files = []
    for place in range(4):
        ids = list(range(place * ROWS, (place + 1) * ROWS))
        columns = {"id": pa.array(ids, pa.int64())}
        for name, (_, kind, values) in KINDS.items():
            if name not in ("p", "q"):
                chosen = [pick.choice([None, *values]) for _ in ids]
                integers = kind if not pa.types.is_temporal(kind) else pa.int32() if name == "day" else pa.int64()
                columns[name] = pa.array(chosen, integers).cast(kind)
        parts = {"p": (None, "a", "b", "B")[place], "q": (None, "1", "2", "10")[place]}
        masked = () if place == 1 else pick.sample(range(ROWS), 5)
        files.append(DataFile(f"{place}.parquet", pa.table(columns), parts, masked, options={"row_group_size": 25}))
    return explorer.open_table(write_table(folder, fields, files, ["p", "q"]))


def _conditions(pick: random.Random) -> Iterator[str]:
    while True:
        yield _condition(pick, pick.choice((0, 0, 1, 2, 3)))


def _condition(pick: random.Random, depth: int) -> str:
    if depth:
        parts = [_condition(pick, pick.randrange(depth)) for _ in range(pick.choice((2, 2, 3)))]
        joined = f" {pick.choice(('AND', 'OR'))} ".join(f"({part})" for part in parts)
        return f"NOT ({joined})" if pick.random() < 0.3 else joined
    name = pick.choice(list(KINDS))
    spelled = name.upper() if pick.random() < 0.1 else name

    def value() -> str:
        return _literal(pick, name)

    forms = (
        f"{spelled} {pick.choice(('=', '<>', '<', '<=', '>', '>=', '<=>', '!=', '=='))} {value()}",
        f"{value()} {pick.choice(('=', '<', '>=', '<=>'))} {spelled}",
        f"{spelled} IS {pick.choice(('', 'NOT '))}NULL",
        f"{spelled} {pick.choice(('', 'NOT '))}IN ({value()}, {value()}, {value()})",
        f"{spelled} {pick.choice(('', 'NOT '))}BETWEEN {value()} AND {value()}",
        f"NOT {spelled} = {value()}",
        "y" if pick.random() < 0.5 else "y IS NOT TRUE",
        pick.choice(("TRUE", "FALSE", "NULL", f"{spelled} = NULL", f"{spelled} <=> NULL")),
    )
    return pick.choice(forms)


def _literal(pick: random.Random, name: str) -> str:
    """A constant for a column; one time in eight that of another column's type."""
    other = pick.choice(list(KINDS)) if pick.random() < 0.12 else name
    kind, _, values = KINDS[other]
    value = pick.choice(values)
    if pick.random() < 0.06:
        return "NULL"
    match kind:
        case "byte" | "short" | "integer" | "long" | "decimal(4,2)" | "decimal(38,18)" | "float" | "double":
            return _number(pick, value)
        case "boolean":
            return str(value)
        case "date":
            text = (date(1970, 1, 1) + timedelta(days=value)).isoformat()
            return pick.choice((f"DATE '{text}'", f"'{text}'"))
        case "timestamp" | "timestamp_ntz":
            moment = EPOCH + timedelta(microseconds=value)
            text = moment.replace(tzinfo=None).isoformat(" ")
            zone = pick.choice(("", "", "Z", "+02:00", "-05:30"))
            word = pick.choice(("TIMESTAMP ", "TIMESTAMP_NTZ ", "", "DATE "))
            return f"{word}'{text}{zone}'"
        case _:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            return f"'{text}'"


def _number(pick: random.Random, value: Any) -> str:
    if isinstance(value, float):
        value = value if abs(value) < 1e305 else 3.0
        return pick.choice((repr(value), f"{value:.1f}" if abs(value) < 1e15 else repr(value), str(int(value))))
    near = value + pick.choice((0, 0, 0, 1, -1, Decimal("0.005")))
    return pick.choice((str(near), str(near), f"{near}.0" if isinstance(near, int) else str(near), f"{float(near)!r}"))


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_generated_conditions_choose_the_rows_of_spark(tmp_path: Path) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    pick = random.Random(20_260)
    table = _table(tmp_path / "t", pick)
    snapshot = table.snapshot()
    judged_here: dict[str, RowCondition] = {}
    left = 0
    for text in _conditions(pick):
        found = judged(snapshot, text)
        if isinstance(found, RowCondition):
            judged_here[text] = found
        else:
            left += 1
        if len(judged_here) == CONDITIONS:
            break
    assert left > CONDITIONS // 20
    rows = table.rows().cache()
    everything, texts = table.head(4 * ROWS), list(judged_here)
    ids = everything.column("id").to_pylist()
    chosen = 0
    for first in at_least_one(range(0, len(texts), AT_ONCE)):
        some = texts[first : first + AT_ONCE]
        try:
            columns = [
                sf.expr(f"({text})").eqNullSafe(sf.lit(True)).alias(f"x{place}") for place, text in enumerate(some)
            ]
            theirs = rows.select("id", *columns).toArrow().sort_by("id")
        except PySparkException as error:
            raise AssertionError(f"Spark refuses one of {some}") from error
        assert theirs.column("id").to_pylist() == sorted(ids)
        for place, text in enumerate(some):
            ours = [row for row, holds in zip(ids, judged_here[text].holds(everything), strict=True) if holds]
            marks = zip(theirs.column("id").to_pylist(), theirs.column(f"x{place}").to_pylist(), strict=True)
            assert sorted(ours) == [row for row, holds in marks if holds], text
            chosen += len(ours)
    assert chosen > CONDITIONS


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_pages_of_matching_rows_are_those_of_spark(tmp_path: Path) -> None:
    pick = random.Random(7)
    table = _table(tmp_path / "t", pick)
    snapshot = table.snapshot()
    texts = ["q >= 2 AND l IS NOT NULL", "p = 'a' OR day < DATE '2000-01-01'"]
    texts += [text for text, _ in zip(_conditions(pick), range(25 if WHOLE_DOSE else 3), strict=False)]
    read_here = 0
    for text in at_least_one(texts):
        begin: RowPosition | None = None
        while True:
            here = first_rows(table, snapshot, begin, 40, where=text, masked=pick.random() < 0.2)
            if isinstance(here, SparkOnly):
                break
            masked = any(here.places.column("masked").to_pylist())
            here = first_rows(table, snapshot, begin, 40, where=text, masked=masked)
            assert not isinstance(here, SparkOnly)
            there = row_page(table, snapshot, begin, 40, where=text, masked=masked).result(120)
            assert [repr(row) for row in here.table.to_pylist()] == [repr(row) for row in there.table.to_pylist()], text
            assert here.table.schema.equals(there.table.schema)
            assert (here.places.to_pydict(), here.following, here.note) == (
                there.places.to_pydict(),
                there.following,
                there.note,
            ), text
            read_here += 1
            begin = here.following
            if begin is None:
                break
    assert read_here >= 3


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("upper(t) = 'A'", "upper"),
        ("t LIKE 'a%'", "LIKE a pattern"),
        ("c = 'a'", "padded"),
        ("at > TIMESTAMP '2020-01-01 00:00:00'", "by the zone of its session"),
        ("t > 5", "needs a conversion"),
        ("m > 123456789012345678901.5", "too many digits"),
        ("b < 128.0", "which its type does not have"),
        ("l < 9223372036854775808", "which its type does not have"),
        ("d < 339999999999999996123846586046231871488", "too many digits"),
        ("i = 5L", "the letter of a type"),
        ("id = ", "what is wrong with the condition"),
        ("no_column = 1", "what is wrong with the condition"),
    ],
)
def test_other_conditions_are_left_to_spark(condition: str, reason: str, tmp_path: Path) -> None:
    table = _table(tmp_path / "t", random.Random(1))
    with pytest.raises(UnsupportedFeature, match=reason):
        table.head(where=condition)


def test_only_files_that_may_have_a_match_are_opened(tmp_path: Path) -> None:
    files = [DataFile(f"{n}.parquet", pa.table({"id": [n]}), {"p": str(n)}) for n in range(300)]
    table = explorer.open_table(
        write_table(tmp_path / "t", [column("id", "long"), column("p", "integer")], files, ["p"])
    )
    for name in tmp_path.glob("t/*.parquet"):
        if name.stem not in ("7", "250"):
            name.unlink()
    rows = table.head(where="p IN (7, 250)")
    assert rows.to_pydict() == {"id": [7, 250], "p": [7, 250]}
    page = first_rows(table, table.snapshot(), None, 1, where="p = 7 OR p = 250")
    assert not isinstance(page, SparkOnly)
    assert (page.files_read, page.following) == (2, RowPosition(250, 0))


def test_a_match_at_the_end_of_a_large_file_is_found_and_more_rows_are_left_to_spark(tmp_path: Path) -> None:
    count = 100_000
    rows = pa.table({"id": range(count)})
    files = [DataFile(f"{n}.parquet", rows, options={"row_group_size": 30_000}, masked=(3,)) for n in range(8)]
    table = explorer.open_table(write_table(tmp_path / "t", [column("id", "long")], files))
    page = first_rows(table, table.snapshot(), None, 2, where="id IN (3, 4, 99999)")
    assert not isinstance(page, SparkOnly)
    assert page.table.column("id").to_pylist() == [4, 99_999]
    assert page.following == RowPosition(1, 4)
    with pytest.raises(UnsupportedFeature, match=f"more than {MOST_TRIED:,} rows"):
        table.head(where="id < 0")
