"""A column at a glance in words: what is exact, what is wide, what only some files say."""

from __future__ import annotations

import msgspec
import pytest

from explorer.core.protocol.schema.data_types import parse_type
from explorer.core.protocol.statistics.column_summary import ColumnSummary
from explorer.views.columns.glance import glance_of, glance_of_type

SUMMARY = ColumnSummary("c", "long", False, 10, 10, 10, 1000, 30, 30, 1, 8, True, True, 0)


def made(**changes: object) -> ColumnSummary:
    """A summary with other facts."""
    return msgspec.structs.replace(SUMMARY, **changes)


@pytest.mark.parametrize(
    ("summary", "nulls", "values", "note"),
    [
        (made(), "3 % null", "1 to 8", ""),
        (made(least_nulls=0, most_nulls=0), "no nulls", "1 to 8", ""),
        (made(least_nulls=0, most_nulls=240), "0 to 24 % null", "1 to 8", ""),
        (made(min_tight=False), "3 % null", "1 to 8", "wide"),
        (made(files_bounded=8, files_counted=8), "3 % null", "1 to 8", "in 8 of 10 files"),
        (made(files_bounded=8, max_tight=False), "3 % null", "1 to 8", "wide, in 8 of 10 files"),
        (made(files_counted=9), "3 % null", "1 to 8", "counted in 9 of 10 files"),
        (
            made(type="variant", files_bounded=0, files_counted=1, least_nulls=0, most_nulls=0, min=None, max=None),
            "no nulls", "variant: no range", "counted in 1 of 10 files",
        ),
        (made(rows=None, files_counted=0, least_nulls=0, most_nulls=0), "nulls unknown", "1 to 8", ""),
        (made(max=1), "3 % null", "only 1", ""),
        (
            made(min=None, max=None, min_tight=None, max_tight=None, least_nulls=1000, most_nulls=1000),
            "all null", "no value", "",
        ),
        (
            made(min=None, max=None, min_tight=None, max_tight=None, files_bounded=0),
            "3 % null", "range unknown", "",
        ),
        (made(type="binary", min=None, max=None, min_tight=None, files_bounded=0), "3 % null", "binary: no range", ""),
        (made(type="string", min="", max="z" * 90), "3 % null", f"\u201c\u201d to {'z' * 15}\u2026{'z' * 8}", ""),
    ],
)  # fmt: skip
def test_nulls_range_and_what_limits_them(summary: ColumnSummary, nulls: str, values: str, note: str) -> None:
    glance = glance_of(summary)
    assert (glance.nulls, glance.range, glance.note) == (nulls, values, note)


def test_the_basis_says_how_many_files_and_how_sure() -> None:
    assert glance_of(made()).basis == "From the statistics of all 10 files. Tight: live rows have both ends."
    some = glance_of(made(files_bounded=8, files_counted=7, min_tight=False)).basis
    assert "Only 8 of 10 files have statistics of it: rows of the others may be beyond the range." in some
    assert "Nulls are counted in 7 of 10 files." in some
    assert "Minimum is wide" in some
    assert "exact" in glance_of(made(partition=True)).basis
    assert "NaN is in no statistics." in glance_of(made(type="double")).basis
    empty = glance_of(made(files=0, files_bounded=0, files_counted=0, rows=None, min=None, max=None))
    assert (empty.nulls, empty.range, empty.basis) == ("no rows", "no range", "No live file has a live row.")


def test_hidden_characters_of_a_value_are_made_visible() -> None:
    glance = glance_of(made(type="string", min="a\u202eb", max="c\nd"))
    assert "\u202e" not in glance.range + glance.min
    assert "\n" not in glance.max


def test_collections_have_no_range_and_structs_have_fields() -> None:
    listed = glance_of_type(parse_type({"type": "array", "elementType": "long", "containsNull": True}))
    assert listed is not None
    assert listed.range == "array: no range"
    mapped = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    assert getattr(glance_of_type(parse_type(mapped)), "range", None) == "map: no range"
    assert getattr(glance_of_type(parse_type("void")), "nulls", None) == "all null"
    assert glance_of_type(parse_type("long")) is None
