"""What `verify`, `audit`, the rows and the reference say of one table, and whether two of them disagree silently.

Rows that fail, or that the reference does not read or reads otherwise, have to be found by `verify` or by the audit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.nested_types import holds
from explorer.spark.scan.scan import scan
from tests.support.clients.reference_writer import ReferenceRefused, ReferenceWriter
from tests.support.comparison.row_content import content_hash

__all__ = ["Answers", "answers_of", "reference_rows", "silent_disagreement"]

_EXPLAIN: Final = {
    "unread-table", "unread-columns", "unreachable-files", "unencoded-paths", "unlisted-type-changes", "missing-files",
    "resized-files", "wrong-cardinality", "unreadable-log", "contested-files", "compaction-differs",
    "checkpoint-differs", "property-values", "partition-column-case",
}  # fmt: skip
"""The rules whose findings say why rows fail, or why clients read other ones."""
_OF_CLIENTS: Final = {"unencoded-paths", "unlisted-type-changes", "partition-column-case"}
"""Those that say of the reference that it refuses the table."""
_EXPLAIN_BY_FORM: Final = {"compaction-differs", "unremoved-vector", "spread-action"}
"""Problems that break this reader in no case, and make readers differ."""
_LOST_FOR_ALL: Final = {"checkpoint-short"}
"""Breaking problems of a state that every reader takes: its rows are lost for all alike."""
_OF_ANY_VERSION: Final = {"invalid-file-values"}
"""Breaking problems that may be of a file that was removed since: the newest rows do not show them."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is said of a table without the reference.

    Attributes:
        rows: How many rows, and their hash (the count alone where a column is a variant); a text where they fail.
        problems: What `verify` found: the kind, and whether it is breaking.
        rules: The rules of which the audit has an error or a warning.
        access: What the program says that delta-spark does with the table.
        has_next_steps: Every error of the audit has a next step.
    """

    rows: tuple[int, str] | str
    problems: frozenset[tuple[str, bool]]
    rules: frozenset[str]
    access: str
    has_next_steps: bool


def answers_of(folder: Path) -> Answers:
    """Ask all of a table but the reference."""
    table = explorer.open_table(folder)
    found = table.audit(check_files=True).findings
    return Answers(
        _rows(table),
        frozenset((problem.kind, problem.breaking) for problem in table.verify().problems),
        frozenset(finding.rule for finding in found if finding.severity != "info"),
        _access(table),
        all(finding.remedy is not None for finding in found if finding.severity == "error"),
    )


def reference_rows(writer: ReferenceWriter, folder: Path) -> tuple[int, str] | str:
    """The rows of the reference, as `Answers.rows` has them."""
    try:
        rows = writer.rows(folder)
    except ReferenceRefused as error:
        return f"{error.condition}: {error}"
    try:
        return _content(rows, explorer.open_table(folder))
    except ExplorerError:
        return rows.num_rows, content_hash(rows)


def silent_disagreement(said: Answers, reference: tuple[int, str] | str | None = None) -> str:
    """Say where two answers disagree and nothing explains it; empty where they do not.

    Args:
        said: The program's answers.
        reference: The rows of the reference, or why it has none; None where it was not asked.
    """
    is_breaking = {kind for kind, breaking in said.problems if breaking} - _LOST_FOR_ALL
    explained = bool(said.rules & _EXPLAIN or is_breaking or {kind for kind, _ in said.problems} & _EXPLAIN_BY_FORM)
    fails = isinstance(said.rows, str)
    if not said.has_next_steps:
        return "an error of the audit has no next step"
    if fails and not explained:
        return f"the rows fail, and nothing says so: {said.rows}"
    if reference is None:
        return ""
    refuses = isinstance(reference, str)
    if refuses and not fails and not explained and said.access == "yes":
        return f"the reference refuses the table, and nothing says so: {reference[:300]}"
    if not refuses and not fails and said.rows != reference and not explained:
        return f"other rows than the reference, and nothing says so: {said.rows[0]}, not {reference[0]}"
    if said.rows == reference and is_breaking - _OF_ANY_VERSION:
        return f"verify says breaking, and the reference reads the same rows: {sorted(is_breaking)}"
    if not refuses and said.rules & _OF_CLIENTS:
        return f"the audit says that the reference refuses the table, and it does not: {sorted(said.rules)}"
    return ""


def _rows(table: explorer.Table) -> tuple[int, str] | str:
    try:
        return _content(scan(table, table.snapshot()).to_arrow(), table)
    except ExplorerError as error:
        return f"{type(error).__name__}: {error}"


def _content(rows: pa.Table, table: explorer.Table) -> tuple[int, str]:
    """Each client gives a variant in a form of its own, so rows of such a table are counted."""
    if any(holds(field.type, "variant") for field in table.snapshot().schema.fields):
        return rows.num_rows, ""
    return rows.num_rows, content_hash(rows)


def _access(table: explorer.Table) -> str:
    facts = client_facts()
    try:
        return verdict_of(table.requirements(), facts, "delta-spark", facts.versions["delta-spark"][-1]).read
    except ExplorerError:
        return "unknown"
