"""Adding one thing is one place: each key and name is written where its registry is, and nowhere else."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.architecture.sources import modules

# The homes of all texts that begin with ``delta.``: properties, keys of field metadata, domains, tags of commits.
HOMES = {
    "explorer.core.protocol.clustering",
    "explorer.core.protocol.row_tracking",
    "explorer.core.protocol.schema.field_metadata",
    "explorer.core.protocol.table_properties.registry",
    "explorer.core.protocol.table_properties.values",
    "explorer.core.transaction.commit_info",
}
KEY = re.compile(r"\bdelta\.[A-Za-z][\w.-]*")


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


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module that are not its documentation."""
    documentation = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node.value
