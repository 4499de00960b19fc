"""The rename river: identities, names, hostile names."""

from types import SimpleNamespace

from explorer.views.figures.river import river_figure
from explorer.views.figures.theme import LIGHT
from explorer.views.table.columns import distinct_names, river_lines

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


def _swapped() -> SimpleNamespace:
    def line(number: int, before: str, after: str) -> SimpleNamespace:
        spans = (_span(0, 4, before), _span(5, 9, after))
        return SimpleNamespace(
            field_id=number, physical_name=f"col-{number}", path=(after,), spans=spans, dropped_at=None
        )

    return SimpleNamespace(columns=(line(1, "net", "gross"), line(2, "gross", "net")))


def test_names_that_were_swapped_are_joined_both_ways() -> None:
    lines = river_lines(_swapped())
    assert [[(t.name, t.version, t.holder, t.held_to) for t in line.took] for line in lines] == [
        [("gross", 5, 1, 4)],
        [("net", 5, 0, 4)],
    ]
    figure = river_figure(lines, LIGHT, first=0, last=9, version=9)
    assert sum(shape["type"] == "path" for shape in figure["layout"]["shapes"]) == 2


def test_every_place_of_a_line_says_its_name_and_who_gave_it_and_chooses_the_column() -> None:
    figure = river_figure(river_lines(_swapped()), LIGHT, first=0, last=9, version=9, authors={5: "REPLACE by ben"})
    texts = [str(trace.get("hovertext", "")) for trace in figure["data"]]
    assert any("<b>gross</b> string" in text and "REPLACE by ben" in text for text in texts)
    chosen = {name for trace in figure["data"] for name in trace.get("customdata", ())}
    assert chosen == {"gross", "net"}
    assert figure["layout"]["meta"] == {"chooses": "col"}


def test_of_many_columns_those_are_drawn_first_to_which_something_happened() -> None:
    plain = [
        SimpleNamespace(
            field_id=None, physical_name=f"c{n}", path=(f"c{n}",), spans=(_span(0, 9, f"c{n}"),), dropped_at=None
        )
        for n in range(60)
    ]
    lines = river_lines(SimpleNamespace(columns=(*plain, *_swapped().columns)))
    figure = river_figure(lines, LIGHT, first=0, last=9, version=9)
    notes = [note["text"] for note in figure["layout"]["annotations"]]
    assert any("<b>gross</b>" in note for note in notes)
    assert figure["layout"]["yaxis"]["range"][0] < 40


def test_long_names_that_begin_alike_are_told_apart() -> None:
    names = [f"measurement_{number:04}_temperature_in_celsius" for number in range(2_000)]
    cut = distinct_names(names, 20)
    assert len(set(cut.values())) == len(names)
    assert all(len(text) <= 20 for text in cut.values())
    assert distinct_names(["short", "other"], 20) == {"short": "short", "other": "other"}


def test_two_versions_have_no_cursor_as_wide_as_half_the_figure() -> None:
    figure = river_figure(river_lines(_swapped()), LIGHT, first=0, last=1, version=1)
    (cursor,) = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]
    assert cursor["x1"] - cursor["x0"] < 0.3
