"""No test passes empty: each asserts on every way through it, or is listed with what raises instead."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.architecture.assertions import Certainty, TestSources

RAISES: Final = {
    "tests/conformance/test_checklist.py::test_markers_in_the_source_are_those_that_pytest_collects": (
        "it asserts of each marked test of the run that it is part of, and a run may have none"
    ),
    "tests/conformance/test_schemas.py::test_one_physical_name_at_two_places_is_no_contradiction": (
        "check_mapping raises CorruptTable of a contradiction"
    ),
    "tests/e2e/tabs/test_tabs.py::test_on_a_telephone_nothing_is_wider_than_the_window": (
        "wait_until raises a TimeoutError where its condition does not come true"
    ),
    "tests/faults/test_damaged_logs.py::test_damage_that_once_got_through": (
        "`examine` asserts of each version; of Parquet in another process, which hands the error on"
    ),
    "tests/faults/test_damaged_logs.py::test_damaged_built_tables": "as above",
    "tests/faults/test_damaged_logs.py::test_damaged_golden_tables": "as above",
    "tests/report/test_numbers_of_the_pages.py::test_what_commits_did_adds_up_to_the_rows_that_others_counted": (
        "it asserts of each two versions whose rows others counted, and a table may have none"
    ),
    "tests/spark/scan/predicate/test_predicate.py::test_a_text_that_only_looks_dangerous_passes": (
        "check_text raises a RequestError of a text that it refuses"
    ),
    "tests/spark/scan/predicate/test_predicate.py::test_any_text_passes_or_is_a_request_error": (
        "any other error than the one that is suppressed"
    ),
    "tests/spark/scan/predicate/test_predicate.py::test_a_plain_predicate_passes": (
        "vet raises a RequestError of a predicate that it refuses"
    ),
    "tests/storage/test_roots.py::test_sources_inside_the_places_are_allowed": (
        "check_source raises NotAllowed of a source outside"
    ),
    "tests/page/test_open_pages.py::test_a_page_whose_table_is_back_before_anything_was_asked_drops_its_notice": (
        "until raises where the message that it waits for does not come"
    ),
}
"""Tests that assert nothing for certain, and what raises in each if the program is wrong."""


def test_every_test_asserts_on_every_way_through_it_or_says_what_raises() -> None:
    found = {test: certainty for test, certainty in TestSources().tests() if certainty is not Certainty.ALWAYS}
    empty = {test: certainty.name.lower() for test, certainty in found.items() if test not in RAISES}
    assert empty == {}, "loop over at_least_one(...), count what was seen, or say in RAISES what raises"
    assert RAISES.keys() - found.keys() == set(), "these assert by now, or are gone"


@pytest.mark.parametrize(
    ("body", "certainty"),
    [
        ("pass", Certainty.NEVER),
        ("assert x", Certainty.ALWAYS),
        ("for a in x: assert a", Certainty.PERHAPS),
        ("for a in [1, 2]: assert a", Certainty.ALWAYS),
        ("for a in []: assert a", Certainty.PERHAPS),
        ("for a in [*x]: assert a", Certainty.PERHAPS),
        ("for a in at_least_one(x): assert a", Certainty.ALWAYS),
        ("for a in NAMES: assert a", Certainty.ALWAYS),
        ("for a in NOTHING: assert a", Certainty.PERHAPS),
        ("for a in sorted(NAMES): assert a", Certainty.ALWAYS),
        ("for a, b in zip(NAMES, x): assert a", Certainty.PERHAPS),
        ("for a, b in TABLE.items(): assert a", Certainty.ALWAYS),
        ("for a in range(3): assert a", Certainty.ALWAYS),
        ("for a in range(0): assert a", Certainty.PERHAPS),
        ("for a in range(x): assert a", Certainty.PERHAPS),
        ("found = [1]\n    for a in found: assert a", Certainty.ALWAYS),
        ("found = [1]\n    found = x\n    for a in found: assert a", Certainty.PERHAPS),
        ("seen = 0\n    for a in x:\n        assert a\n        seen += 1\n    assert seen", Certainty.ALWAYS),
        ("for a in [1, 2]:\n        if a in x: assert a", Certainty.PERHAPS),
        ("if x: assert x", Certainty.PERHAPS),
        ("if x: assert x\n    else: assert not x", Certainty.ALWAYS),
        ("while x: assert x", Certainty.PERHAPS),
        ("assert all(x)", Certainty.PERHAPS),
        ("assert not any(a for a in x)", Certainty.PERHAPS),
        ("assert all(a for a in NAMES)", Certainty.ALWAYS),
        ("assert all(a for a in NAMES if a)", Certainty.PERHAPS),
        ("with pytest.raises(ValueError): x", Certainty.ALWAYS),
        ("for a in x:\n        with pytest.raises(ValueError): a", Certainty.PERHAPS),
        ("expect(x).to_be_visible()", Certainty.ALWAYS),
        ("certain(x)", Certainty.ALWAYS),
        ("perhaps(x)", Certainty.PERHAPS),
        ("helped(x)", Certainty.ALWAYS),
        ("helpers.helped(x)", Certainty.ALWAYS),
        ("for a in helpers.MORE: assert a", Certainty.PERHAPS),
        ("for a in MORE: assert a", Certainty.ALWAYS),
        ("certain", Certainty.NEVER),
        ("def inner(): assert x", Certainty.NEVER),
        ("try:\n        assert x\n    except OSError: pass", Certainty.PERHAPS),
    ],
)
def test_what_a_test_asserts_is_read_from_its_source(tmp_path: Path, body: str, certainty: Certainty) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helpers.py").write_text("MORE = (1,)\ndef helped(a):\n    assert a\n", "utf-8")
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n"
        "from tests import helpers\n"
        "from tests.helpers import MORE, helped\n"
        "NAMES = ('a', 'b')\n"
        "NOTHING = ()\n"
        "TABLE = {'a': 1}\n"
        "def certain(a):\n    assert a\n"
        "def perhaps(a):\n    for b in a: assert b\n"
        f"def test_y(x):\n    {body}\n",
        "utf-8",
    )
    assert dict(TestSources(tmp_path).tests()) == {"tests/test_x.py::test_y": certainty}
