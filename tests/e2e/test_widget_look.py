"""The widget's style sheet in a browser: errors are read in lines, and the controls have the colours of the theme."""

from __future__ import annotations

from typing import Any

import pytest
from explorer.jupyter.panels import problem_panel

from explorer.core.errors import MalformedAction
from explorer.jupyter.browser.style import style_sheet

pytestmark = pytest.mark.e2e
FIELDS = '<input value="a"><select><option>b</option></select>'


@pytest.fixture
def drawn(watched: Any) -> Any:
    """Return a function that draws a widget's content in a theme, as wide as a narrow cell of a notebook."""

    def draw(content: str, theme: str = "light") -> Any:
        style = f"<style>{style_sheet()} body {{ background: white; width: 420px; }}</style>"
        watched.set_content(f'<!doctype html>{style}<div class="dte dte-{theme}">{content}</div>')
        return watched

    return draw


def test_no_label_of_an_error_is_broken_into_letters(drawn: Any) -> None:
    error = MalformedAction("Line 2 is no action", version=4, path=f"_delta_log/{'0' * 120}.json", line=2)
    lines = drawn(str(problem_panel(error))).evaluate("""() => [...document.querySelectorAll('dt')].map(label => {
        const text = document.createRange();
        text.selectNodeContents(label);
        return text.getClientRects().length;
    })""")
    assert len(lines) >= 3
    assert set(lines) == {1}


@pytest.mark.parametrize(("theme", "light"), [("light", True), ("dark", False)])
def test_controls_have_the_colours_of_the_theme(drawn: Any, theme: str, light: bool) -> None:
    page = drawn(FIELDS, theme)
    grounds = page.evaluate(
        "() => [...document.querySelectorAll('input, select')].map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(grounds) == 2
    for ground in grounds:
        red, green, blue = (int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(","))
        assert (min(red, green, blue) > 200, max(red, green, blue) < 80) == (light, not light)
