"""Which changes of the core the tests notice: mutmut changes one thing at a time and runs the tests that reach it.

A part is some modules of the core and the tests that are to notice; it takes less than an hour. It runs on a copy in
``build/mutants``, without Spark. A mutant that survives is judged by a person, in ``tests.strength.judged``: by its
function and the line that it changed, as its number changes whenever the module does.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tests.strength.judged import JUDGED
from tests.support.shared_tables import REPOSITORY

__all__ = ["PARTS", "Part", "digest", "due_parts", "judgement", "measure"]

FOLDER: Final = REPOSITORY / "build" / "mutants"
COPIED: Final = (
    "explorer", "tests", "docs", "assets", "notebooks", "pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile",
)  # fmt: skip
KILLED: Final = {"killed", "timeout", "suspicious", "segfault"}


@dataclass(frozen=True, slots=True)
class Part:
    """Modules of ``explorer/core``, without ``.py``, and the tests that are to notice what changes in them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS: Final[dict[str, Part]] = {
    "deletion-vectors": Part(
        ("protocol/deletion_vectors",),
        (
            *("tests/core/protocol/test_deletion_vectors.py", "tests/conformance/test_deletion_vector_files.py"),
            "tests/core/transaction/test_new_files.py",
        ),
    ),
    "replay": Part(
        ("log/replay",),
        ("tests/conformance/test_reconciliation.py", "tests/conformance/test_commits.py", "tests/core/log"),
    ),
    "row-ids": Part(
        ("protocol/row_tracking", "transaction/new_files/row_ids"),
        ("tests/core/protocol/test_row_tracking.py", "tests/core/transaction/test_property_proposals.py"),
    ),
    "partition-values": Part(
        ("protocol/partition_values",),
        (
            "tests/core/protocol/test_partition_values.py",
            "tests/core/protocol/test_partition_zones.py",
            "tests/core/protocol/test_statistics.py",
            "tests/core/transaction/test_new_files.py",
        ),
    ),
    "names-of-the-log": Part(
        ("log/log_path", "log/last_checkpoint", "log/log_segment", "protocol/file_paths"),
        (
            *("tests/core/log/test_log_path.py", "tests/core/log/test_last_checkpoint.py"),
            *("tests/core/log/test_log_segment.py", "tests/conformance/test_commits.py"),
            *("tests/conformance/test_reconciliation.py", "tests/core/versions/test_delta_log.py"),
        ),
    ),
    "commits": Part(
        ("log/commit", "log/table_state", "log/version_checksum"),
        (
            *("tests/conformance/test_commits.py", "tests/conformance/test_protocol_and_metadata.py"),
            *("tests/core/log/test_small_actions.py", "tests/core/log/test_bad_input.py"),
            *("tests/core/log/test_checksum_writer.py", "tests/core/log/test_verify.py"),
        ),
    ),
    "commit-times": Part(
        ("versions/commit_times",),
        ("tests/core/versions/test_commit_times.py", "tests/core/versions/test_history.py"),
    ),
    "history": Part(
        ("versions/lifetimes/events", "versions/lifetimes/builder", "versions/history_totals", "versions/diff"),
        (
            *("tests/core/versions/test_history.py", "tests/core/versions/test_diff_totals.py"),
            *("tests/core/versions/test_successor.py", "tests/conformance/test_reconciliation.py"),
        ),
    ),
    "retention": Part(
        ("versions/retention/expiry", "versions/retention/version_states", "versions/retention/horizon"),
        (
            *("tests/core/versions/test_retention.py", "tests/core/versions/test_version_states.py"),
            "tests/core/versions/test_horizon.py",
        ),
    ),
    "skipping": Part(
        ("protocol/sql/predicates", "protocol/statistics/skipping_truth", "protocol/statistics/data_skipping"),
        ("tests/core/protocol/test_skipping.py", "tests/core/protocol/test_expressions.py"),
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
            *("tests/core/transaction/test_dropped_features.py", "tests/core/transaction/test_property_settings.py"),
        ),
    ),
    "conflicts": Part(
        ("transaction/commit/conflicts",),
        ("tests/core/transaction/test_conflicts.py", "tests/core/transaction/test_committer.py"),
    ),
    "outcomes": Part(("transaction/commit/outcomes",), ("tests/core/transaction/test_outcomes.py",)),
}

_CONFIGURATION: Final = """
[tool.mutmut]
source_paths = ["explorer"]
only_mutate = {modules}
also_copy = {copied}
pytest_add_cli_args = ["-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=300"]
pytest_add_cli_args_test_selection = {tests}
process_isolation = "forkserver"
timeout_constant = 20
"""
"""mutmut waits 15 times the constant, in seconds: a busy machine must not take slow for noticed."""


def measure(name: str) -> dict[str, Any]:
    """Run one part: how many mutants, how many killed, and those that survived."""
    part, folder = PARTS[name], FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for each in COPIED:
        source = REPOSITORY / each
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, folder / each)
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(
            _CONFIGURATION.format(
                modules=json.dumps([f"explorer/core/{module}.py" for module in part.modules]),
                copied=json.dumps([each for each in COPIED if each not in ("explorer", "tests", "pyproject.toml")]),
                tests=json.dumps(part.tests),
            )
        )
    started = time.monotonic()
    _mutmut(folder, "run", "--max-children", str(os.cpu_count() or 1))
    states = dict(_states(folder))
    counts = Counter("killed" if state in KILLED else state for state in states.values())
    survivors = _survivors(folder, {mutant: state for mutant, state in sorted(states.items()) if state not in KILLED})
    return {
        "digest": digest(part),
        "modules": list(part.modules),
        "tests": list(part.tests),
        "mutants": len(states),
        "killed": counts["killed"],
        "seconds": round(time.monotonic() - started),
        "survivors": survivors,
    }


def digest(part: Part) -> str:
    """What the code of its modules does, without texts that only explain it: a record holds for this code alone."""
    found = sha256()
    for module in part.modules:
        tree = ast.parse((REPOSITORY / "explorer/core" / f"{module}.py").read_text("utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
        found.update(ast.dump(tree).encode())
    return found.hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def due_parts(record: dict[str, Any]) -> list[str]:
    """The parts without a record, or with one that is older than the code it speaks of."""
    return [name for name, part in PARTS.items() if record.get(name, {}).get("digest") != digest(part)]


def judgement(survivor: dict[str, str]) -> str:
    """What is said of a survivor, by a rule or by a person; empty if nobody looked at it."""
    before, after = survivor["before"], survivor["after"]
    if _only_words(before, after):
        return "only letters of a message"
    if before.lower() == after.lower() and (".encode(" in before or ".decode(" in before):
        return "the same encoding by another name"
    if after in _without(before, ", strict=True", (", strict=None", ", strict=False", ", ")):
        return "both sides have one length, which zip only asserts"
    function = survivor["function"]
    return JUDGED.get((function, before, after)) or JUDGED.get((function, before), "")


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


def _mutmut(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": "", "CI": "true"}
    environment |= {
        name: str(REPOSITORY.parent / "shared" / kind)
        for name, kind in (("DELTA_GOLDEN", "golden"), ("DELTA_REFERENCE", "reference"))
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
    if ran.returncode:
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


def _survivors(folder: Path, states: dict[str, str]) -> list[dict[str, str]]:
    """Mutants, by their states, with the lines that they changed."""
    command = [sys.executable, "-c", _SHOW]
    shown = subprocess.run(
        command, cwd=folder, input=json.dumps(list(states)), capture_output=True, text=True, check=False
    )
    if shown.returncode:
        raise RuntimeError(f"mutmut could not show what it changed:\n{shown.stderr[-5_000:]}")
    found: dict[str, str] = json.loads(shown.stdout)
    return [_survivor(mutant, found[mutant], state) for mutant, state in states.items()]


def _survivor(mutant: str, shown: str, state: str) -> dict[str, str]:
    changed = [line for line in shown.splitlines() if line[:1] in "+-"]
    before = [line[1:].strip() for line in changed if line.startswith("-") and not line.startswith("---")]
    after = [line[1:].strip() for line in changed if line.startswith("+") and not line.startswith("+++")]
    function = mutant.removeprefix("explorer.core.").rpartition("__mutmut_")[0]
    return {"function": function, "before": " / ".join(before), "after": " / ".join(after), "state": state}
