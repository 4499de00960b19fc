"""Texts of a table or of a given file over which a pattern or a parser would take forever."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from explorer.auditing.erasure.logged_values import quoted_values
from explorer.auditing.tripwires.records import read_tripwires
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.my_clients import parse_my_clients
from explorer.core.errors import ExplorerError, LimitExceeded, RequestError
from explorer.core.log.action_lines import part_end
from explorer.core.protocol.schema.char_types import text_lengths
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.sql.growth import check_growth
from explorer.core.protocol.sql.tokens import tokens_of
from explorer.report.case_desk import CaseDesk
from explorer.report.case_file import read_case
from explorer.spark.engine.failure_kinds import known_failure
from explorer.spark.engine.spark_words import first_sentence, without_java

MANY = 60_000
STRUCT = StructType((StructField("a", PrimitiveType("string"), nullable=True, metadata={}),))


def of_struct(text: str) -> object:
    return text_lengths(text, STRUCT)


def of_format(text: str) -> None:
    check_growth(tokens_of(f"format_string('{text}', 1)"))


def of_numbers(text: str) -> object:
    return list(quoted_values(text, PrimitiveType("long")))


def of_part(text: str) -> object:
    return part_end(text.encode(), 0)


def of_error(text: str) -> object:
    return first_sentence(ValueError(text))


SLOW: list[tuple[Callable[[str], object], str]] = [
    (of_struct, "struct<" + " " * MANY),
    (of_struct, "struct<" + "a " * MANY),
    (of_struct, "struct<a" + " " * MANY + "b"),
    (of_format, "%" + "0" * MANY),
    (of_format, "%" + "1" * MANY),
    (of_format, "%" + "0 " * MANY),
    (tokens_of, "1" * MANY + "x"),
    (of_numbers, "-" + " " * 9_000 + "1 " * 5_000),
    (of_numbers, "- " * 9_000 + "1"),
    (of_numbers, "1" * 19_000 + "x"),
    (of_part, "}" + "\n" * MANY + "x"),
    (of_part, "}" + " \n" * MANY + "x"),
    (of_part, "}\n" * MANY),
    (without_java, "a" + " " * MANY),
    (without_java, "\n" * MANY + "x"),
    (without_java, "\n " * MANY + "x"),
    (without_java, "\nat " * MANY),
    (of_error, "The value '" + " " * 1_000_000 + "' cannot be cast. SQLSTATE: 22018"),
    (of_error, "[X] " + "If necessary set " * MANY),
    (known_failure, "NoClassDefFoundError" * (MANY // 20)),
    (known_failure, "NoClassDefFoundError: " + "a.b" * MANY + "!"),
]


@pytest.mark.parametrize(("read", "text"), SLOW, ids=[f"{read.__name__} {text[:24]!r}" for read, text in SLOW])
def test_a_text_that_repeats_itself_takes_no_long_time(read: Callable[[str], object], text: str) -> None:
    began = time.process_time()
    with suppress(ExplorerError, ValueError):
        read(text)
    assert time.process_time() - began < 3


def test_what_the_patterns_find_is_as_it_was() -> None:
    assert part_end(b'{"a":{}}\n\n  {"b":1}', 0) == len(b'{"a":{}}\n\n')
    assert part_end(b'{"a":{},\n"c":1}\n{"b":1}', 0) == len(b'{"a":{},\n"c":1}\n')
    assert [low for low, _ in of_numbers("x = - ( 12")] == [12, -12]  # type: ignore[attr-defined]
    assert text_lengths("struct< `a` : char(3) , b:int>", STRUCT) == (((("field", "a"),), 3),)
    assert without_java("It broke\n\tat org.apache.A.b(A.scala:1)\n  Caused by: x") == "It broke"
    assert of_error("[XY] The value ' a' is bad. SQLSTATE: 22018\n== SQL ==") == "The value ' a' is bad."


DOTS = "a." * 8_000 + "a = 1"


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_case(DOTS.encode(), "case.toml"),
        lambda: CaseDesk().load("\n".join(["a." * 300 + "a = 1"] * 200), "case.toml"),
        lambda: read_tripwires(DOTS, "tripwires.toml"),
        lambda: parse_my_clients(DOTS.encode(), client_facts()),
    ],
    ids=["case", "many lines", "tripwires", "clients"],
)
def test_names_of_many_parts_are_refused_before_they_are_read(read: Callable[[], object]) -> None:
    began = time.process_time()
    with pytest.raises(LimitExceeded, match="too many dots"):
        read()
    assert time.process_time() - began < 3


def test_a_case_of_too_many_pins_is_refused_and_the_case_stays() -> None:
    desk = CaseDesk()
    desk.describe("Mine", "ana", "")
    pins = ",".join(f'{{"kind":"commit","version":{version}}}' for version in range(5_000))
    with pytest.raises(RequestError, match="has 5,000 pins"):
        desk.load(f'{{"title":"x","pins":[{pins}]}}', "case.json")
    assert desk.file.title == "Mine"


@pytest.mark.parametrize("version", ["9" * 5_000, "1e400", "-1"])
def test_a_version_that_is_no_number_of_a_version_is_refused_in_words(version: str) -> None:
    with pytest.raises(RequestError, match="is not a case file"):
        CaseDesk().load(f'{{"title":"x","pins":[{{"kind":"commit","version":{version}}}]}}', "case.json")
