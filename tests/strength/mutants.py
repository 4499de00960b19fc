"""Which changes of the core the tests notice: mutmut changes one thing at a time and runs the tests that reach it.

A part is some modules of the core and the tests that are to notice; it takes less than an hour. Of the modules that
are in no part of their own, each package has parts of some functions that chance chose; tests that read shared tables
run only for what survives the others in the second. Tests were written for what survived in all but the last, so only
the last, by its figures of the first run, says something of the functions that were not chosen. A part runs on a
copy in ``build/mutants``, without Spark, with as many tests at a time as ``MUTANTS_CHILDREN`` says. The record counts
by function, so that only what changed has to run again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.strength.functions import digests
from tests.support.shared_tables import REPOSITORY

__all__ = ["PARTS", "Part", "due", "judgement", "measure", "still_open"]

CORE: Final = REPOSITORY / "explorer" / "core"
FOLDER: Final = REPOSITORY / "build" / "mutants"
COPIED: Final = (
    "explorer", "tests", "docs", "assets", "notebooks", "pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile",
)  # fmt: skip
PREFIX: Final = "explorer.core."
_COPIES: Final = re.compile(r", (copy=(True|False|None))?(?=\))")
KILLED: Final = {"killed", "timeout", "suspicious", "segfault"}


@dataclass(frozen=True, slots=True)
class Part:
    """Modules of ``explorer/core``, without ``.py``, and the tests that are to notice what changes in them.

    A part is of so many functions of its modules as ``sample`` says, or of all: those whose names have the lowest
    digests, after the first ``passed``. Which those are does not depend on what they do, and stays while the others
    change. What survives runs with the tests of shared tables too where ``shared``.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int | None = None
    passed: int = 0
    shared: bool = False

    def functions(self) -> dict[str, str]:
        """Function -> digest of its code."""
        found = digests(self.modules)
        chosen = sorted(found, key=lambda name: sha256(name.encode()).digest())[self.passed :]
        return {name: found[name] for name in sorted(chosen[: self.sample])}


_OF_GIVEN_ROWS: Final = (
    *(
        "tests/core/transaction/row_preparation/test_given_rows.py",
        "tests/core/transaction/proposals/test_row_changes.py",
    ),
    *(
        "tests/core/transaction/commit/test_streamed_batches.py",
        "tests/core/transaction/proposals/test_rewritten_files.py",
    ),
    "tests/core/transaction/proposals/test_recomputed_statistics.py",
)

_IN_FULL: Final[dict[str, Part]] = {
    "deletion-vectors": Part(
        ("protocol/deletion_vectors",),
        (
            *("tests/core/protocol/test_deletion_vectors.py", "tests/core/protocol/test_legacy_vectors.py"),
            "tests/conformance/test_deletion_vector_files.py",
            "tests/core/transaction/new_files/test_new_files.py",
        ),
    ),
    "replay": Part(
        ("log/replay",),
        (
            *("tests/conformance/test_reconciliation.py", "tests/conformance/test_commits.py", "tests/core/log"),
            "tests/core/versions/test_kept_columns.py",
        ),
    ),
    "row-ids": Part(
        ("protocol/row_tracking", "transaction/new_files/file_actions"),
        ("tests/core/protocol/test_row_tracking.py", "tests/core/transaction/proposals/test_property_proposals.py"),
    ),
    "partition-values": Part(
        ("protocol/partition_values",),
        (
            "tests/core/protocol/test_partition_values.py",
            "tests/core/protocol/test_partition_zones.py",
            "tests/core/protocol/statistics/test_statistics.py",
            "tests/core/transaction/new_files/test_new_files.py",
        ),
    ),
    "names-of-the-log": Part(
        ("log/log_path", "log/last_checkpoint", "log/log_segment", "protocol/file_paths"),
        (
            *("tests/core/log/test_log_path.py", "tests/core/log/test_last_checkpoint.py"),
            *("tests/core/log/test_log_segment.py", "tests/core/log/test_names_and_gaps.py"),
            *("tests/core/log/test_listing_facts.py", "tests/core/log/test_version_files.py"),
            *("tests/conformance/test_commits.py", "tests/core/versions/test_delta_log.py"),
        ),
    ),
    "commits": Part(
        ("log/commit", "log/table_state"),
        (
            *("tests/conformance/test_commits.py", "tests/conformance/test_protocol_and_metadata.py"),
            *("tests/core/log/test_small_actions.py", "tests/core/log/test_bad_input.py"),
            *("tests/core/log/test_decoded_commits.py", "tests/core/log/test_commits_together.py"),
            *("tests/core/log/test_commit_parts.py", "tests/core/log/checkpoint/test_states_alike.py"),
            "tests/core/log/test_alike_lines.py",
            *("tests/core/log/writing/test_checksum_writer.py", "tests/core/log/verify/test_verify.py"),
        ),
    ),
    "commit-times": Part(
        ("versions/commit_times",),
        (
            *("tests/core/versions/test_commit_times.py", "tests/core/versions/test_history.py"),
            "tests/core/versions/commits/test_commit_provenance.py",
        ),
    ),
    "history": Part(
        ("versions/lifetimes/events", "versions/lifetimes/builder", "versions/history", "versions/diff"),
        (
            *("tests/core/versions/test_history.py", "tests/core/versions/test_diff_totals.py"),
            *("tests/core/versions/open_log/test_successor.py", "tests/conformance/test_reconciliation.py"),
            *("tests/core/versions/lifetimes/test_batches.py", "tests/core/versions/change_feed/test_mapping_mode.py"),
            *("tests/core/versions/change_feed/test_column_matching.py", "tests/core/versions/test_delta_log.py"),
            *("tests/core/log/test_bad_input.py", "tests/core/log/test_catalog_commits.py"),
            "tests/core/versions/test_diff_facts.py",
            *("tests/core/versions/lifetimes/test_life_of_files.py", "tests/core/versions/test_kept_history.py"),
            *(
                "tests/core/versions/lifetimes/test_alike_histories.py",
                "tests/core/versions/lifetimes/test_sums_beyond_64_bits.py",
            ),
        ),
    ),
    "retention": Part(
        ("versions/retention/expiry", "versions/retention/version_states", "versions/retention/horizon"),
        (
            *(
                "tests/core/versions/retention/test_retention.py",
                "tests/core/versions/retention/test_version_states.py",
            ),
            *("tests/core/versions/retention/test_horizon.py", "tests/core/versions/retention/test_horizon_facts.py"),
            *(
                "tests/core/versions/retention/test_states_of_old_versions.py",
                "tests/core/versions/retention/test_expiry_facts.py",
            ),
        ),
    ),
    "skipping": Part(
        ("protocol/sql/predicates", "protocol/statistics/skipping_truth", "protocol/statistics/data_skipping"),
        (
            *("tests/core/protocol/statistics/test_skipping.py", "tests/core/protocol/sql/test_expressions.py"),
            *("tests/properties/test_skipping.py", "tests/conformance/test_collations.py"),
            *(
                "tests/core/protocol/sql/test_condition_trees.py",
                "tests/core/protocol/statistics/test_skipping_truth.py",
            ),
        ),
    ),
    "vacuum": Part(
        ("maintenance/vacuum",),
        (
            *("tests/core/maintenance/test_vacuum.py", "tests/core/maintenance/test_vacuum_guards.py"),
            "tests/core/maintenance/test_maintenance.py",
        ),
    ),
    "unused-files": Part(
        ("maintenance/unused_files",),
        (
            *("tests/core/maintenance/test_unused_files.py", "tests/core/maintenance/test_vacuum.py"),
            "tests/core/maintenance/test_vacuum_guards.py",
        ),
    ),
    "log-cleanup": Part(
        ("maintenance/log_cleanup",),
        ("tests/core/maintenance/test_log_cleanup.py", "tests/core/maintenance/test_cleanup_plan.py"),
    ),
    "features": Part(
        ("protocol/table_features", "protocol/protocol_evolution"),
        (
            *("tests/core/protocol/test_table_features.py", "tests/core/protocol/test_protocol_evolution.py"),
            "tests/conformance/test_protocol_and_metadata.py",
            *(
                "tests/core/transaction/proposals/test_dropped_features.py",
                "tests/core/transaction/intents/test_property_settings.py",
            ),
        ),
    ),
    "conflicts": Part(
        ("transaction/commit/conflicts",),
        (
            *("tests/core/transaction/commit/test_conflicts.py", "tests/core/transaction/commit/test_committer.py"),
            "tests/core/transaction/commit/test_outcomes.py",
        ),
    ),
    # Without Spark: the rows are given by an engine of the tests, and by tables that Spark changed.
    "row-preparation": Part(
        tuple(
            f"transaction/row_preparation/{name}"
            for name in (*("change", "matched_files", "proposer", "rewrite", "write"),)
        ),
        (*_OF_GIVEN_ROWS, "tests/core/transaction/row_preparation/test_skipped_files.py"),
    ),
    "row-proposals": Part(
        tuple(
            f"transaction/proposals/rows/{name}"
            for name in ("append_rows", "change_rows", "delete_rows", "overwrite_rows")
        ),
        (*_OF_GIVEN_ROWS, "tests/core/transaction/proposals/test_identity_marks.py"),
    ),
    "row-guards": Part(
        ("transaction/guards/rows", "transaction/row_engine"),
        ("tests/core/transaction/guards/test_guards_of_rows.py", "tests/core/transaction/test_whole_plans.py"),
    ),
}


def _others_of(package: str) -> tuple[str, ...]:
    """The modules of a package of the core that are in no part in full."""
    full = {module for part in _IN_FULL.values() for module in part.modules}
    files = sorted([*CORE.glob(f"{package}.py"), *CORE.glob(f"{package}/**/*.py")])
    names = (file.relative_to(CORE).with_suffix("").as_posix() for file in files)
    return tuple(name for name in names if name not in full)


_SAMPLE: Final = 18
_SECOND: Final = 8
_THIRD: Final = 12
_CONFORMANCE: Final = (
    *("tests/conformance/test_checkpoint_content.py", "tests/conformance/test_collations.py"),
    *("tests/conformance/test_commits.py", "tests/conformance/test_deletion_vector_files.py"),
    *("tests/conformance/test_protocol_and_metadata.py", "tests/conformance/test_reconciliation.py"),
    *("tests/conformance/test_schemas.py", "tests/conformance/test_unwritable_tables.py"),
)
_TESTS_OF_OTHERS: Final = {
    "compatibility": ("tests/core/compatibility",),
    "errors": ("tests/core/test_errors.py",),
    "log": (
        *(
            "tests/core/log",
            "tests/core/versions/test_kept_columns.py",
            "tests/core/protocol/statistics/test_statistics.py",
        ),
        *_CONFORMANCE,
    ),
    "maintenance": (
        *(
            "tests/core/maintenance",
            "tests/core/versions/retention/test_horizon.py",
            "tests/core/versions/retention/test_horizon_facts.py",
        ),
        *("tests/faults/test_maintenance_faults.py", "tests/golden/test_written_checksums.py"),
        *("tests/cli/commands/test_blame.py", "tests/cli/commands/test_retention.py", "tests/views/test_table_view.py"),
    ),
    "protocol": ("tests/core/protocol", *_CONFORMANCE, "tests/data_files"),
    "transaction": ("tests/core/transaction", "tests/core/maintenance/test_plan_documents.py"),
    "versions": ("tests/core/versions", *_CONFORMANCE),
}
PARTS: Final[dict[str, Part]] = {
    **_IN_FULL,
    **{
        f"others-of-{package}": Part(_others_of(package), tests, _SAMPLE) for package, tests in _TESTS_OF_OTHERS.items()
    },
    **{
        f"second-of-{package}": Part(_others_of(package), tests, _SECOND, passed=_SAMPLE, shared=True)
        for package, tests in _TESTS_OF_OTHERS.items()
        if package != "errors"
    },
    **{
        f"third-of-{package}": Part(_others_of(package), _TESTS_OF_OTHERS[package], _THIRD, passed=_SAMPLE + _SECOND)
        for package in ("log", "protocol", "transaction", "versions")
    },
}

_ARGUMENTS: Final = ("-p", "tests.strength.deeper", "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=300")
# A function of many callers is reached by hundreds of tests, and those that read every shared table take the longest.
# The tests of odd metadata ask Spark about some of it, and each mutant would start a JVM of its own.
_WITHOUT_SPARK: Final = "--ignore=tests/core/transaction/intents/test_odd_metadata.py"
_OF_OTHERS: Final = ("-m", "not golden and not reference", _WITHOUT_SPARK)
_OF_SHARED: Final = ("-m", "(golden or reference) and not spark", _WITHOUT_SPARK)
_SHARED: Final = ("tests/golden", "tests/conformance")
_CONFIGURATION: Final = """
[tool.mutmut]
source_paths = ["explorer"]
only_mutate = {modules}
also_copy = {copied}
pytest_add_cli_args = {arguments}
pytest_add_cli_args_test_selection = {tests}
process_isolation = "forkserver"
timeout_constant = 4
"""
"""mutmut waits 15 times the constant, in seconds: a busy machine must not take slow for noticed."""


def measure(name: str, recorded: dict[str, Any], functions: Iterable[str]) -> dict[str, Any]:
    """The record of a part after a run of some of its functions; what is recorded of the others stays.

    ``of`` is how many functions its modules have, of which the part may be a sample.

    Args:
        name: Of the part.
        recorded: Its record until now; empty if there is none.
        functions: Those to run, by mutmut's names. Those that the part does not have any more leave the record.
    """
    known = PARTS[name].functions()
    running = known.keys() & functions
    started = time.monotonic()
    patterns = [f"{PREFIX}{function}__mutmut_*" for function in running]
    states, survived = _ran(name, patterns, shared=False) if running else ({}, {})
    if survived and PARTS[name].shared:
        again, survived = _ran(name, list(survived), shared=True)
        states |= again
    survivors = list(survived.values())
    took = round(time.monotonic() - started)
    counts: dict[str, dict[str, Any]] = recorded.get("functions", {}) | {
        function: {"digest": known[function], "mutants": 0, "killed": 0} for function in running
    }
    for mutant, state in states.items():
        counts[_function(mutant)]["mutants"] += 1
        counts[_function(mutant)]["killed"] += state in KILLED
    kept = [each for each in recorded.get("survivors", ()) if each["function"] in known.keys() - running]
    figures = {function: counts[function] for function in sorted(known) if function in counts}
    # What a later sample says of the functions that were not chosen, no test may be written for.
    first = {function: [each["mutants"], each["killed"]] for function, each in figures.items()}
    return {
        **({"first": {**first, **recorded.get("first", {})}} if PARTS[name].passed else {}),
        "of": len(digests(PARTS[name].modules)),
        "seconds": took if known.keys() == running else recorded.get("seconds", took),
        "functions": figures,
        "survivors": sorted([*kept, *survivors], key=lambda each: each["function"]),
    }


def due(name: str, recorded: dict[str, Any]) -> list[str]:
    """Functions of a part that have no record, or one of other code, and functions in its record that are gone."""
    found = {function: each["digest"] for function, each in recorded.get("functions", {}).items()}
    known = PARTS[name].functions()
    return sorted(function for function in known | found if known.get(function) != found.get(function))


def still_open(recorded: dict[str, Any]) -> list[str]:
    """Return the functions with a survivor that no rule explains."""
    return sorted({each["function"] for each in recorded.get("survivors", ()) if not judgement(each)})


def judgement(survivor: dict[str, str]) -> str:
    """Return why a survivor changes nothing, if a rule knows it; else an empty text."""
    before, after = survivor["before"], survivor["after"]
    if _only_words(before, after):
        return "only letters of a message"
    if before.lower() == after.lower() and (".encode(" in before or ".decode(" in before or '"utf-8"' in before):
        return "the same encoding by another name"
    if after in _without(before, ", strict=True", (", strict=None", ", strict=False", ", ")):
        return "both sides have one length, which zip only asserts"
    if before.endswith("] = False") and after == before.removesuffix("False") + "None":
        return "None is False among flags"
    if before.startswith(("assert_never(", "case _: / assert_never(")):
        return "no value comes here"
    if ".astype(" in before and _COPIES.sub("", before) == _COPIES.sub("", after):
        return "a copy says the same"
    for kind in ("np.int64", "np.int32", "np.int8", "bool"):
        if re.search(
            rf"(np\.(full|zeros|ones|array|arange|empty|cumsum)|astype)\(.*{kind}", before
        ) and after in _without(before, kind, ("None", "")) + _without(before, f"dtype={kind}", ("dtype=None", "")):
            return "the same values, in the type that NumPy chooses for them"
    return ""


def _only_words(before: str, after: str) -> bool:
    """Whether two lines differ in the letters of texts of several words alone, and not in how many there are."""
    if before.lower() != after.replace("XX", "").lower():
        return False
    texts, others = (re.findall(r'"((?:[^"\\]|\\.)*)"', line) for line in (before, after))
    between = (re.sub(r'"(?:[^"\\]|\\.)*"', '""', line) for line in (before, after))
    changed = [text for text, other in zip(texts, others, strict=False) if text != other]
    return len(texts) == len(others) and len(set(between)) == 1 and all(" " in text.strip() for text in changed)


def _without(before: str, part: str, others: Iterable[str]) -> list[str]:
    return [before.replace(part, other) for other in others] if part in before else []


def _ran(name: str, patterns: list[str], *, shared: bool) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Run some mutants of a part, in a copy of the repository: the states, and those that survived.

    Args:
        name: Of the part.
        patterns: Of the names of mutants, each of which ends with its number or a star.
        shared: Run the tests that read shared tables, instead of the others.
    """
    part = PARTS[name]
    functions = {_function(pattern) for pattern in patterns}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{name}-", dir=FOLDER) as made:
        folder = Path(made)
        for each in COPIED:
            source = REPOSITORY / each
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, folder / each)
        touched = {function.rpartition(".")[0] for function in functions}
        modules = [each for each in part.modules if each.replace("/", ".") in touched]
        chosen = (_OF_SHARED if shared else _OF_OTHERS) if part.sample else ()
        with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(
                _CONFIGURATION.format(
                    modules=json.dumps([f"explorer/core/{module}.py" for module in modules]),
                    copied=json.dumps([each for each in COPIED if each not in ("explorer", "tests", "pyproject.toml")]),
                    tests=json.dumps(list(dict.fromkeys([*part.tests, *(_SHARED if shared else ())]))),
                    arguments=json.dumps([*_ARGUMENTS, *chosen]),
                )
            )
        children = os.environ.get("MUTANTS_CHILDREN") or str(os.cpu_count() or 1)
        unless = ("nothing matches", "could not find any test case")
        _mutmut(folder, "run", "--max-children", children, *patterns, unless=unless)
        ran = dict(sorted(_states(folder)))
        states = {mutant: state for mutant, state in ran.items() if _asked(mutant, patterns)}
        survived = {mutant: state for mutant, state in states.items() if state not in KILLED}
        return states, _survivors(folder, survived)


def _asked(mutant: str, patterns: Iterable[str]) -> bool:
    return mutant in patterns or f"{mutant.rpartition('_')[0]}_*" in patterns


def _mutmut(folder: Path, *arguments: str, unless: tuple[str, ...] = ()) -> str:
    environment = {**os.environ, "PYTHONPATH": "", "CI": "true"}
    environment |= {
        name: str(REPOSITORY.parent / "shared" / kind)
        for name, kind in (("DELTA_GOLDEN", "golden"), ("DELTA_REFERENCE", "reference"), ("DELTA_FIELD", "field"))
        if name not in os.environ and (REPOSITORY.parent / "shared" / kind).is_dir()
    }
    ran = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode and not any(said in ran.stdout for said in unless):
        raise RuntimeError(f"mutmut {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stdout[-5_000:]}")
    return ran.stdout


def _states(folder: Path) -> list[tuple[str, str]]:
    """Each mutant with its state."""
    lines = (line.strip().rpartition(": ") for line in _mutmut(folder, "results", "--all", "true").splitlines())
    return [(mutant, state) for mutant, _, state in lines if "__mutmut_" in mutant]


_SHOW: Final = """
import json, sys
from mutmut.__main__ import find_mutant
from mutmut.mutation.diff_apply import get_diff_for_mutant
print(json.dumps({name: get_diff_for_mutant(name, path=find_mutant(name).path) for name in json.load(sys.stdin)}))
"""
"""What `mutmut show` prints, of all in one process: it takes seconds to start."""


def _survivors(folder: Path, states: dict[str, str]) -> dict[str, dict[str, str]]:
    """Mutants, by their states, with the lines that they changed."""
    command = [sys.executable, "-c", _SHOW]
    shown = subprocess.run(
        command, cwd=folder, input=json.dumps(list(states)), capture_output=True, text=True, check=False
    )
    if shown.returncode:
        raise RuntimeError(f"mutmut could not show what it changed:\n{shown.stderr[-5_000:]}")
    found: dict[str, str] = json.loads(shown.stdout)
    return {mutant: _survivor(mutant, found[mutant], state) for mutant, state in states.items()}


def _survivor(mutant: str, shown: str, state: str) -> dict[str, str]:
    changed = [line for line in shown.splitlines() if line[:1] in "+-"]
    before = [line[1:].strip() for line in changed if line.startswith("-") and not line.startswith("---")]
    after = [line[1:].strip() for line in changed if line.startswith("+") and not line.startswith("+++")]
    return {"function": _function(mutant), "before": " / ".join(before), "after": " / ".join(after), "state": state}


def _function(mutant: str) -> str:
    return mutant.removeprefix(PREFIX).rpartition("__mutmut_")[0]
