"""The page on proofs names every proof, and a proof is due that never ran, failed or changed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import pytest

from tests.prove.plugin import covers
from tests.prove.proofs import PROOFS, proofs_of
from tests.prove.record import ProofRun, WholeRun, digest, due_proofs
from tests.prove.report import PAGE, page
from tests.support.shared_tables import REPOSITORY


def test_the_page_has_every_proof_and_no_other() -> None:
    assert PAGE.read_text("utf-8") == page({}, None), "run: python -m tests.prove --page"


def test_the_page_takes_results_of_the_record_and_keeps_the_others() -> None:
    run = ProofRun("2026-01-02", "d", {"passed": 1_002}, 95, {"committed": 7})
    changed = [line for line in page({"kills": run}, None).splitlines() if line not in PAGE.read_text("utf-8")]
    assert [line.rpartition("three commits | ")[2] for line in changed] == [
        "7 committed; 1,002 passed | 2 min | 2026-01-02 |"
    ]
    whole = page({}, WholeRun("2026-01-02", 3, 0, ("kills",)))
    assert "As the one command, with no proofs due, it failed at kills after 3 s on 2026-01-02." in whole


def test_many_kinds_of_outcomes_are_counted_by_their_last_words() -> None:
    kinds = {
        "append committed": 4,
        "delete committed": 3,
        "delete conflicted": 2,
        "purge conflicted": 5,
        "merge left": 1,
    }
    lines = page({"kills": ProofRun("2026-01-02", "d", {"passed": 1}, 9, kinds)}, None).splitlines()
    assert [line for line in lines if "7 committed, 7 conflicted, 1 left; 1 passed | 9 s" in line]


FAILED: Final = {
    "single-sign-on": "a session ended that should have been kept; mended, and that test passed alone",
}
"""Proofs that failed when they last ran whole, and what is known of that."""


def test_a_proof_that_failed_is_known_to_have_failed() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) > len(PROOFS)
    assert {row.split(" | ")[0].removeprefix("| ") for row in rows if re.search(r"\d failed\b", row)} == set(FAILED)


def test_every_proof_names_tests_that_there_are() -> None:
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
    for proof in PROOFS:
        path, _, test = proof.tests.partition("::")
        assert (REPOSITORY / path).exists(), proof.tests
        assert f"def {test.partition('[')[0]}(" in (REPOSITORY / path).read_text("utf-8") if test else True, proof.tests


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("tests/prove/test_races.py::test_a_race_with_deltalake[s3]", ["race-deltalake-s3"]),
        ("tests/properties/test_skipping.py::test_no_file_with_a_matching_row_is_dropped", ["properties"]),
        ("tests/prove/test_crawl.py::test_every_control_of_the_list_of_tables[chromium-light]", ["crawl-lists"]),
        ("tests/architecture/test_words.py::test_a", []),
    ],
)
def test_a_case_belongs_to_the_proof_that_holds_it(test: str, names: list[str]) -> None:
    assert [proof.name for proof in proofs_of(test)] == names


def test_a_proof_is_due_that_never_ran_failed_or_changed() -> None:
    names = [proof.name for proof in PROOFS]
    sound = {
        proof.name: ProofRun("2026-01-01", digest(proof), {"passed": 2, "skipped": 1}, 1.0, {}) for proof in PROOFS
    }
    assert due_proofs(sound) == []
    assert due_proofs({}) == names
    file = next(proof.name for proof in PROOFS if digest(proof))
    changed = {**sound, file: replace(sound[file], digest="another")}
    failed = {**changed, names[-1]: replace(sound[names[-1]], cases={"passed": 2, "failed": 1})}
    del failed[names[0]]
    assert due_proofs(failed) == [name for name in names if name in {names[0], file, names[-1]}]
    # What a proof needs was not installed: it proved nothing.
    skipped = {**sound, names[1]: replace(sound[names[1]], cases={"skipped": 21})}
    assert due_proofs(skipped) == [names[1]]


@pytest.mark.parametrize(
    ("asked", "tests", "ran"),
    [
        ("tests/spark", "tests/spark", True),
        ("tests/", "tests/spark", True),
        ("tests/spark/writes/test_batches.py", "tests/spark", False),
        ("tests/prove/test_races.py", "tests/prove/test_races.py::test_a_race_on_s3", True),
        ("tests/prove/test_races.py::test_a_race_on_s3", "tests/prove/test_races.py", False),
        ("tests/prove/test_races", "tests/prove/test_races.py", False),
    ],
)
def test_a_proof_ran_whole_if_what_was_asked_for_holds_it(asked: str, tests: str, ran: bool) -> None:
    assert covers(asked, tests) is ran
