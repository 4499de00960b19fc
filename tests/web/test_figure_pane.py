"""A figure in its place: redrawn as little as its data allow, whether it has shapes or not."""

import pytest
from explorer.web.figure_pane import FigurePane

from explorer.views.figures.plotly import Figure


def figure(*shapes: float, height: int = 150) -> Figure:
    layout: Figure = {"height": height}
    if shapes:
        layout["shapes"] = [{"type": "line", "x0": place, "x1": place, "y0": 0, "y1": 1} for place in shapes]
    return {"data": [{"type": "bar", "x": [1, 2], "y": [3, 4]}], "layout": layout}


@pytest.mark.parametrize("before", [(), (1.0,)])
@pytest.mark.parametrize("after", [(), (2.0,), (1.0, 3.0)])
def test_shapes_come_move_and_go_without_the_data(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    place = FigurePane(figure(*before), 146)
    drawn = place.pane.object
    place.draw(figure(*after), same_data=True)
    assert place.pane.object is drawn
    assert [shape.x0 for shape in drawn.layout.shapes] == list(after)


def test_other_data_bring_their_own_height() -> None:
    place = FigurePane(None, 146)
    assert place.height == 146
    place.draw(figure(height=300), same_data=True)
    assert (place.height, len(place.pane.object.data)) == (300, 1)


def test_a_page_without_a_figure_leaves_the_last_one() -> None:
    place = FigurePane(figure(), 146)
    place.draw(None, same_data=False)
    assert len(place.pane.object.data) == 1
