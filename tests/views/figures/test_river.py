"""The rename river: identities, names, hostile names."""

from types import SimpleNamespace

from explorer.views.figures.river import river_figure
from explorer.views.figures.theme import LIGHT
from explorer.views.table.column_lines import river_lines

HOSTILE = "<img src=x onerror=alert(1)>"


def _span(first: int, last: int, name: str, kind: str = "string") -> SimpleNamespace:
    return SimpleNamespace(from_version=first, to_version=last, name=name, type=kind, nullable=True)


def _lineage() -> SimpleNamespace:
    old = SimpleNamespace(
        field_id=5,
        physical_name="col-1",
        path=("state",),
        spans=(_span(0, 22, "status"), _span(23, 51, "state")),
        dropped_at=52,
    )
    new = SimpleNamespace(
        field_id=7, physical_name="col-2", path=("status",), spans=(_span(23, 59, "status"),), dropped_at=None
    )
    odd = SimpleNamespace(
        field_id=None, physical_name=HOSTILE, path=(HOSTILE,), spans=(_span(0, 59, HOSTILE, HOSTILE),), dropped_at=None
    )
    return SimpleNamespace(columns=(old, new, odd))


def test_a_name_taken_over_points_to_its_earlier_holder() -> None:
    lines = river_lines(_lineage())
    assert [line.reused for line in lines] == [None, 0, None]
    assert [line.label for line in lines] == ["field 5", "field 7", "by name"]


def test_figure_joins_the_two_and_marks_the_drop() -> None:
    figure = river_figure(river_lines(_lineage()), LIGHT, first=0, last=59, version=41)
    assert sum(shape["type"] == "path" for shape in figure["layout"]["shapes"]) == 1
    notes = [note["text"] for note in figure["layout"]["annotations"]]
    assert "dropped v52" in notes
    assert any("reused" in note for note in notes)


def test_hostile_names_are_escaped_in_every_label() -> None:
    figure = river_figure(river_lines(_lineage()), LIGHT, first=0, last=59, version=41)
    texts = [note["text"] for note in figure["layout"]["annotations"]]
    texts += [text for trace in figure["data"] for text in trace.get("hovertext", ())]
    assert not any("<img" in text for text in texts)
    assert any("&lt;img" in text for text in texts)
