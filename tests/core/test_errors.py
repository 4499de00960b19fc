"""Errors carry typed facts: each is an attribute, a keyword of its class alone, and a field of the JSON record."""

import copy
import json
from pathlib import Path

import pytest

from explorer.core import errors
from explorer.core.errors import (
    ExplorerError,
    ExpressionRefused,
    InvalidIntent,
    MalformedAction,
    VersionGap,
    VersionNotFound,
)


def test_facts_of_the_base_come_before_those_of_the_class_and_the_location_last() -> None:
    error = VersionNotFound("No version 9.", nearest=4, version=9, earliest=0, latest=4)
    error.table = "file:///orders"
    assert list(error.facts().items()) == [
        ("error", "VersionNotFound"),
        ("message", "No version 9."),
        ("version", 9),
        ("nearest", 4),
        ("earliest", 0),
        ("latest", 4),
        ("table", "file:///orders"),
    ]


def test_fact_that_is_not_known_reads_as_none_and_is_left_out() -> None:
    error = MalformedAction("Bad line.", path="00000000000000000001.json")
    assert (error.path, error.line, error.table) == ("00000000000000000001.json", None, None)
    assert error.facts() == {"error": "MalformedAction", "message": "Bad line.", "path": "00000000000000000001.json"}


def test_fact_of_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        InvalidIntent("No.", colour="red")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        _ = MalformedAction("No.").nearest  # type: ignore[attr-defined]


def test_facts_are_json_whatever_stands_in_them() -> None:
    error = ExpressionRefused("Odd \ud800.", expression="\ud800", nearest=("a", "b"))
    assert json.loads(json.dumps(error.facts())) == {
        "error": "ExpressionRefused",
        "message": "Odd \\ud800.",
        "expression": "\\ud800",
        "nearest": ["a", "b"],
    }


def test_facts_inside_of_facts_are_json_too() -> None:
    error = InvalidIntent("No.", found={3: {"at": Path("a/b"), "of": [Path("c"), None, 2.5, True]}, "x\ud800": 1})
    assert error.facts()["found"] == {"3": {"at": "a/b", "of": ["c", None, 2.5, True]}, "x\\ud800": 1}


def test_an_error_with_other_facts_is_another_error_of_the_same_kind() -> None:
    for length in (20, 12_000):
        error = VersionNotFound("x" * length, version=9, table="file:///orders")
        other = error.with_facts(field="version", version=8)
        assert (type(other), other.message, str(other), other.table) == (
            VersionNotFound,
            error.message,
            str(error),
            "file:///orders",
        )
        assert (other.field, other.version, error.field, error.version) == ("version", 8, None, 9)
    with pytest.raises(TypeError, match="colour"):
        MalformedAction("No.").with_facts(colour="red")


def test_an_error_of_another_kind_has_the_facts_that_both_kinds_have() -> None:
    refused = ExpressionRefused(
        "No.", expression="f(x)", position=3, reason="function", condition="c", found="f", expected="e", nearest=["g"],
        version=7, table="file:///orders",
    )  # fmt: skip
    intent = refused.of_kind(InvalidIntent, field="expression")
    assert type(intent) is InvalidIntent
    assert intent.facts() == refused.facts() | {"error": "InvalidIntent", "field": "expression"}
    gap = VersionNotFound("No version 9.", version=9, nearest=4, latest=4, table="file:///orders").of_kind(VersionGap)
    assert gap.facts() == {
        "error": "VersionGap", "message": "No version 9.", "version": 9, "latest": 4, "table": "file:///orders",
    }  # fmt: skip
    assert refused.field is None


@pytest.mark.parametrize("length", [4_999, 5_000, 5_001, 12_000])
def test_a_message_is_cut_in_its_middle_where_it_is_too_long(length: int) -> None:
    whole = " ".join(map(str, range(length)))[:length]
    message = str(InvalidIntent(whole))
    assert message == (whole if length <= 5_000 else f"{whole[:4_000]} […] {whole[-1_000:]}")


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__])
def test_every_error_is_its_message_and_can_be_copied(kind: type[ExplorerError]) -> None:
    error = kind("What, where and what to do.", table="file:///orders")
    again = copy.copy(error)
    assert (str(error), error.args) == ("What, where and what to do.", ("What, where and what to do.",))
    assert (type(again), again.facts()) == (kind, error.facts())
