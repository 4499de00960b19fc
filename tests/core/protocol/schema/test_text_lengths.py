"""How long the texts inside a value may be, by the CHAR and VARCHAR that the metadata of its column spells out."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.protocol.schema.char_types import Step, text_lengths
from explorer.core.protocol.schema.data_types import parse_type
from tests.support.logs.spark_tables import column, struct

TEXTS = {"type": "array", "elementType": "string", "containsNull": True}
WORDS = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
PLACE = struct(column("code", "string"), column("price", "decimal(10,2)"), column("names", TEXTS))
ELEMENT, KEY, VALUE = ("element", ""), ("key", ""), ("value", "")


def field(name: str) -> Step:
    return "field", name


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("string", "string", []),
        ("string", "char(4)", [((), 4)]),
        ("string", " VarChar ( 12 ) ", [((), 12)]),
        ("decimal(10,2)", "decimal(10,2)", []),
        ("timestamp_ntz", "timestamp_ntz", []),
        (TEXTS, "array<string>", []),
        (TEXTS, "ARRAY<VARCHAR(2)>", [((ELEMENT,), 2)]),
        (WORDS, "map<char(1),varchar(9)>", [((KEY,), 1), ((VALUE,), 9)]),
        (WORDS, "map< string , varchar(9) >", [((VALUE,), 9)]),
        (WORDS, "map<char(3),string>", [((KEY,), 3)]),
        (
            PLACE,
            "struct<code:char(2),price:decimal(10,2),names:array<varchar(5)>>",
            [((field("code"),), 2), ((field("names"), ELEMENT), 5)],
        ),
        ({**TEXTS, "elementType": PLACE}, "array<struct<CODE:char(2)>>", [((ELEMENT, field("code")), 2)]),
        (
            {**WORDS, "valueType": {**TEXTS, "elementType": WORDS}},
            "map<string,array<map<string,char(7)>>>",
            [((VALUE, ELEMENT, VALUE), 7)],
        ),
        (struct(), "struct<>", []),
    ],
)
def test_each_text_has_the_length_that_is_spelt_out_at_its_place(kind: Any, text: str, found: list[object]) -> None:
    assert text_lengths(text, parse_type(kind)) == tuple(found)


@pytest.mark.parametrize(
    ("names", "text", "found"),
    [
        (["a", "b"], "struct<a:char(1),b:char(2)>", {"a": 1, "b": 2}),
        (["b", "a"], "struct<a:char(1),b:char(2)>", {"a": 1, "b": 2}),
        (["A", "new"], "struct<a:char(1),b:char(2)>", {"A": 1, "new": 2}),
        (["a", "b", "added"], "struct<a:char(1),b:char(2)>", {"a": 1, "b": 2}),
        (["b"], "struct<a:array<int>,b:char(2)>", {"b": 2}),
        (["b"], "struct<b:char(2),a:map<int,decimal(3,1)>>", {"b": 2}),
        (["x:y", "`"], "struct<`x:y`:char(1),````:char(2)>", {"x:y": 1, "`": 2}),
        (["`", "x"], "struct<x:char(1),````:char(2)>", {"x": 1, "`": 2}),
        (["two words"], "struct<two words:char(1)>", {"two words": 1}),
        (["a<b,c>"], "struct<`a<b,c>`:char(1)>", {"a<b,c>": 1}),
    ],
)
def test_a_field_is_that_of_its_name_or_of_its_place(names: list[str], text: str, found: dict[str, int]) -> None:
    lengths = text_lengths(text, parse_type(struct(*(column(name, "string") for name in names))))
    assert {steps[0][1]: length for steps, length in lengths} == found


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("long", "char(2)", "'char(2)' is another type in the schema"),
        ("string", "array<char(2)>", "'array<char(2)>' is another type in the schema"),
        (TEXTS, "map<string,char(2)>", "'map<string,char(2)>' is another type in the schema"),
        (WORDS, "map<string>", "'>' does not continue a type"),
        (PLACE, "struct<code:char(2)", "a struct is not closed"),
        (PLACE, "struct<code:char(2),,price:int>", "',price:int>' is not a field"),
        (PLACE, "struct<gone:char(2)>", "the schema has no field 'gone'"),
        (PLACE, "struct<gone:array< varchar (2)>>", "the schema has no field 'gone'"),
        (PLACE, "struct<code:char(2)> more", "'more' follows the type"),
        ("string", "", "'' is not a type"),
        ("string", "varchar", "'varchar' has no length"),
        ("string", "varchar(-1)", "'varchar(-1)' has no length"),
    ],
)
def test_a_text_that_is_not_of_the_schema_is_refused(kind: Any, text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the whole text is compared)
        text_lengths(text, parse_type(kind))
    assert str(refused.value) == why
