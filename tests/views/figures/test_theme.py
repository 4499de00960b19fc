"""The colours reach the contrast that reading needs, in both themes."""

import pytest

from explorer.views.figures.theme import DARK, LIGHT, Theme, css_variables, theme_named
from tests.support.at_least_one import at_least_one

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@THEMES
@pytest.mark.parametrize(
    ("text", "grounds"),
    [
        ("ink", ("background", "surface", "lane")),
        ("muted", ("background", "surface")),
        ("accent", ("background", "surface", "accent_ground")),
        ("on_accent", ("accent",)),
        ("added", ("surface",)),
        ("removed_ink", ("surface",)),
        ("remasked", ("surface",)),
        ("ok", ("surface", "ok_ground")),
        ("warning", ("surface", "warning_ground")),
        ("danger", ("surface", "danger_ground")),
    ],
)
def test_text_reaches_4_5_to_1_on_its_grounds(theme: Theme, text: str, grounds: tuple[str, ...]) -> None:
    for ground in at_least_one(grounds):
        assert _contrast(getattr(theme, text), getattr(theme, ground)) >= 4.5, (text, ground)


@THEMES
def test_marks_reach_3_to_1_on_the_surface(theme: Theme) -> None:
    for mark in (theme.added, theme.removed, theme.remasked, theme.idle, *theme.series):
        assert _contrast(mark, theme.surface) >= 3, mark


def test_css_variables_name_every_colour() -> None:
    css = css_variables(LIGHT)
    assert "--accent-ground:#E8F1FB;" in css
    assert "--name" not in css
    assert theme_named("anything") is LIGHT
    assert theme_named("dark") is DARK
