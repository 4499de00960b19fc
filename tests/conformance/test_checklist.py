"""The checklist holds together: known ids, no row without proof or reason, no proof lost, the page up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.checklist import ROLES, load_checklist, load_exceptions, load_ledger
from tests.conformance.proofs import Proof, load_proofs, proofs_of_source
from tests.conformance.report import PAGE, page, standings
from tests.support.shared_tables import REPOSITORY

ROWS = load_checklist()

NUMBERS = {"must": 297, "should": 77, "may": 18}


def test_the_checklist_holds_every_row_once() -> None:
    assert Counter(row.level for row in ROWS.values()) == NUMBERS
    assert len({row.requirement for row in ROWS.values()}) == len(ROWS)
    for row in ROWS.values():
        assert row.id.startswith(f"{row.area}-")
        assert set(row.roles) <= set(ROLES)


def test_every_marked_row_and_every_exception_is_in_the_checklist() -> None:
    named = frozenset[str]().union(*(proof.rows for proof in load_proofs().values()))
    assert len(named) > 300
    assert named - ROWS.keys() == set()
    assert load_exceptions().keys() - ROWS.keys() == set()
    assert set(load_ledger()) - ROWS.keys() == set()


def test_every_row_that_binds_reading_has_a_test_or_a_reason() -> None:
    reasons = load_exceptions()
    bare = [
        found.row.id
        for found in standings()
        if found.row.binds_reading and found.row.level != "may" and not found.tests and found.row.id not in reasons
    ]
    assert bare == []


def test_a_refusal_is_shown_by_a_test() -> None:
    assert [found.row.id for found in standings() if found.standing == "refused" and not found.tests] == []


def test_no_row_of_the_ledger_has_lost_its_test() -> None:
    assert sorted(set(load_ledger()) - {found.row.id for found in standings() if found.tests}) == []


def test_the_page_is_what_the_checklist_and_the_tests_say() -> None:
    assert PAGE.read_text("utf-8") == page(standings()), "run: python -m tests.conformance --write"


def test_markers_in_the_source_are_those_that_pytest_collects(request: pytest.FixtureRequest) -> None:
    by_source = load_proofs()
    for item in request.session.items:
        name = item.nodeid.split("[")[0]
        for mark in item.iter_markers("conformance"):
            for row in mark.args:
                assert row in by_source[name].rows


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("@pytest.mark.conformance('A-1', 'A-2')\ndef test_x(): ...", {"test_x": {"A-1", "A-2"}}),
        ("def test_x(): ...", {}),
        ("pytestmark = [pytest.mark.conformance('A-1')]\ndef test_x(): ...", {"test_x": {"A-1"}}),
        (
            "@pytest.mark.conformance('A-1')\nclass TestY:\n  @pytest.mark.conformance('A-2')\n  def test_z(self): ...",
            {"TestY::test_z": {"A-1", "A-2"}},
        ),
        (
            "@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.conformance('A'))])\ndef test_x(n): ...",
            {"test_x": {"A"}},
        ),
        ("@pytest.mark.conformance('A-1')\ndef not_a_test(): ...", {}),
    ],
)
def test_markers_are_found_wherever_pytest_takes_them(source: str, found: dict[str, set[str]]) -> None:
    assert found == {test: proof.rows for test, proof in proofs_of_source(source).items()}


@pytest.mark.parametrize("marker", ["conformance('LOG-999')", "conformance"])
def test_a_marker_that_names_no_row_stops_the_collection(tmp_path: Path, marker: str) -> None:
    (tmp_path / "test_x.py").write_text(f"import pytest\n@pytest.mark.{marker}\ndef test_x(): ...\n", "utf-8")
    root = REPOSITORY
    command = [sys.executable, "-m", "pytest", "-p", "tests.conformance.plugin", "-o", "addopts=", "--collect-only"]
    run = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_x.py::test_x" in run.stderr


def test_a_marker_whose_id_is_computed_is_refused() -> None:
    with pytest.raises(ValueError, match="plain strings"):
        proofs_of_source("@pytest.mark.conformance(NAME)\ndef test_x(): ...")


def test_a_row_needs_what_the_test_that_needs_least_needs() -> None:
    spark, alone = Proof(frozenset({"LOG-003", "LOG-004"}), ("reference", "spark")), Proof(frozenset({"LOG-004"}), ())
    needs = {each.row.id: (each.standing, each.tests, each.needs) for each in standings({"a": spark, "b": alone})}
    assert needs["LOG-003"] == ("covered", ("a",), ("reference", "spark"))
    assert needs["LOG-004"] == ("covered", ("a", "b"), ())
    assert needs["LOG-005"] == ("open", (), ())


def test_needs_are_the_marks_of_the_module_the_class_and_the_test() -> None:
    source = (
        "pytestmark = [pytest.mark.golden]\n@pytest.mark.spark\nclass TestY:\n"
        "  @pytest.mark.conformance('A-1')\n  @pytest.mark.timeout(3)\n  def test_z(self): ..."
    )
    assert proofs_of_source(source)["TestY::test_z"].needs == ("golden", "spark")
