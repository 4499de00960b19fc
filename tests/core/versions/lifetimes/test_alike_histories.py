"""Histories of real logs, read with as many lines as possible as columns, beside line by line."""

from __future__ import annotations

import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.log import alike_lines, decoded_parts
from explorer.core.log.decoded_parts import DecodedPart
from explorer.core.versions import history_reader
from explorer.core.versions.lifetimes.builder import LifetimesBuilder
from tests.support.logs.same_histories import same
from tests.support.shared_tables import golden_root, reference_root

ROOTS = [pytest.param("golden", marks=pytest.mark.golden), pytest.param("reference", marks=pytest.mark.reference)]


@pytest.mark.parametrize("root", ROOTS)
def test_every_log_says_the_same_as_line_by_line(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_parts, "_FEWEST", 0)
    monkeypatch.setattr(alike_lines, "_FEWEST", 1)
    made: list[int] = []
    take = LifetimesBuilder.take

    def counted(builder: LifetimesBuilder, part: DecodedPart) -> list[int]:
        made.append(sum(len(each.places) for each in part.similar))
        return take(builder, part)

    monkeypatch.setattr(LifetimesBuilder, "take", counted)
    for folder in sorted((golden_root() if root == "golden" else reference_root()).joinpath("tables").iterdir()):
        mine, meant = explorer.open_table(folder), explorer.open_table(folder)
        refused = _read(mine)
        with monkeypatch.context() as patch:
            patch.setattr(history_reader, "AlikeLines", lambda: None)
            assert _read(meant) == refused
            if refused is None:
                same(mine, meant)
    assert sum(made) > 300


def _read(table: explorer.Table) -> str | None:
    """Read the history; what is wrong with the log."""
    try:
        table.history()
    except ExplorerError as error:
        return str(error)
    return None
