"""Adding one thing is one place: each key and name is written where its registry is, and nowhere else."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGE, modules

# The homes of all texts that begin with ``delta.``: properties, keys of field metadata, domains, tags of commits.
HOMES = {
    "explorer.catalogs.derived_keys",
    "explorer.core.protocol.clustering",
    "explorer.core.protocol.row_tracking",
    "explorer.core.protocol.schema.field_metadata",
    "explorer.core.protocol.table_properties.registry",
    "explorer.core.protocol.table_properties.values",
    "explorer.core.transaction.commit_info",
}
KEY = re.compile(r"\bdelta\.[A-Za-z][\w.-]*")

PROTOCOL, TRANSACTION = "core/protocol", "core/transaction"
# What is added, the words that name it, and each file that names it.
ADDED = [
    ("a property", "randomPrefixLength|RANDOM_PREFIX_LENGTH", [f"{PROTOCOL}/table_properties/registry.py"]),
    (
        "a property that this program acts on",
        "writePartitionColumnsToParquet|PARTITION_COLUMNS_IN_FILES",
        [f"{PROTOCOL}/table_properties/registry.py", f"{TRANSACTION}/new_files/layout.py"],
    ),
    ("a table feature", "geospatial", [f"{PROTOCOL}/table_features.py"]),
    (
        "a table feature that can be dropped",
        "vacuumProtocolCheck",
        [f"{PROTOCOL}/table_features.py", f"{TRANSACTION}/proposals/features.py"],
    ),
    (
        "an intent",
        "SetColumnComment|set_column_comment|set-column-comment",
        [
            f"{TRANSACTION}/alignment.py",
            f"{TRANSACTION}/intents/records.py",
            f"{TRANSACTION}/proposals/column_changes.py",
            f"{TRANSACTION}/undoing/inverse.py",
            f"{TRANSACTION}/undoing/undo.py",
            "views/act/intents/columns.py",
        ],
    ),
    (
        "an intent whose proposal has a module of its own",
        "MoveColumn|column_changes|move-column",
        [
            f"{TRANSACTION}/alignment.py",
            f"{TRANSACTION}/intents/records.py",
            f"{TRANSACTION}/proposals/__init__.py",
            f"{TRANSACTION}/proposals/column_changes.py",
            f"{TRANSACTION}/undoing/inverse.py",
            f"{TRANSACTION}/undoing/undo.py",
            "views/act/intents/columns.py",
        ],
    ),
    ("a rule of the audit", "log-hole", ["auditing/rules/log.py"]),
    ("another spelling of a storage", "abfss", ["storage/other_schemes.py", "storage/schemes.py"]),
    ("a storage", "open_memory", ["storage/memory.py", "storage/schemes.py"]),
]


def test_keys_of_delta_are_written_in_their_homes_alone() -> None:
    found = {
        name: keys
        for name, tree in modules().items()
        if name not in HOMES and (keys := [key for text in _texts(tree) for key in KEY.findall(text)])
    }
    assert found == {}, "read it through its row, or through the constant of its home"


def test_every_key_of_delta_is_written_once() -> None:
    written = Counter(text for name in HOMES for text in _texts(modules()[name]) if KEY.fullmatch(text))
    assert [key for key, times in written.items() if times > 1] == []


@pytest.mark.parametrize(("words", "files"), [row[1:] for row in ADDED], ids=[row[0] for row in ADDED])
def test_adding_one_touches_these_files_alone(words: str, files: list[str]) -> None:
    assert _named_in(PACKAGE, words) == files


def test_adding_a_tab_touches_its_module_its_template_the_list_of_tabs_and_the_rights_of_its_exports() -> None:
    assert _named_in(PACKAGE / "page", "deletion_vectors|deletion-vectors") == [
        "page/entry.py",
        "page/tabs/__init__.py",
        "page/tabs/deletion_vectors.py",
        "page/templates/deletion-vectors.html",
    ]


def _named_in(folder: Path, words: str) -> list[str]:
    """The files below a folder whose name or text holds one of the words."""
    pattern = re.compile(rf"\b({words})\b")
    sources = (path for path in folder.rglob("*") if path.suffix in {".py", ".html", ".js", ".css"})
    found = (path for path in sources if pattern.search(f"{path.name}\n{path.read_text(encoding='utf-8')}"))
    return sorted(str(path.relative_to(PACKAGE)) for path in found)


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module that are not its documentation."""
    documentation = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node.value
