"""The design tokens, light and dark: the one source for the style sheet and for the figures.

Text colours reach 4.5:1 on both backgrounds of their theme, marks 3:1 (`tests/views/test_theme.py` computes both).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

FONT_FAMILY = 'Roboto, system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif'
MONO_FAMILY = 'ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", Consolas, monospace'


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of colours; every value is a CSS colour."""

    name: str
    background: str
    surface: str
    ink: str
    muted: str
    faint: str
    line: str
    lane: str
    accent: str
    accent_ground: str
    on_accent: str
    added: str
    removed: str
    removed_ink: str
    remasked: str
    ok: str
    ok_ground: str
    warning: str
    warning_ground: str
    danger: str
    danger_ground: str
    cursor: str
    cursor_solid: str
    cursor_line: str
    on_cursor: str
    warning_mark: str
    between: str
    grid: str
    idle: str
    series: tuple[str, ...]


LIGHT = Theme(
    name="light",
    background="#F7F7F5",
    surface="#FFFFFF",
    ink="#1B1F24",
    muted="#5F6670",
    faint="#9AA1AB",
    line="#E5E6E8",
    lane="#EEF0F2",
    accent="#0B5CAD",
    accent_ground="#E8F1FB",
    on_accent="#FFFFFF",
    added="#0072B2",
    removed="#D55E00",
    removed_ink="#A84A00",
    remasked="#AA4A8A",
    ok="#00795A",
    ok_ground="#E3F4EE",
    warning="#8A5A00",
    warning_ground="#FFF3D6",
    danger="#B3261E",
    danger_ground="#FCE8E6",
    cursor="rgba(255, 213, 74, 0.38)",
    cursor_solid="#FFD54A",
    cursor_line="#B98900",
    on_cursor="#1B1F24",
    warning_mark="#B98900",
    between="rgba(11, 92, 173, 0.10)",
    grid="#EEF0F2",
    idle="#8B929C",
    series=("#1F83BD", "#1F8A6C", "#B25F99", "#DB6F14", "#9582C9", "#2F72B8", "#1C8A93", "#8A949F"),
)

DARK = Theme(
    name="dark",
    background="#121417",
    surface="#191C20",
    ink="#E6E8EB",
    muted="#A0A7B1",
    faint="#6B727C",
    line="#2B3036",
    lane="#22262B",
    accent="#6CB6FF",
    accent_ground="#16283B",
    on_accent="#10151B",
    added="#56B4E9",
    removed="#F28E4B",
    removed_ink="#F28E4B",
    remasked="#D98CC0",
    ok="#4CC9A0",
    ok_ground="#12312A",
    warning="#E8B84B",
    warning_ground="#332A12",
    danger="#FF8A80",
    danger_ground="#3A1D1B",
    cursor="rgba(224, 178, 31, 0.28)",
    cursor_solid="#E0B21F",
    cursor_line="#E0B21F",
    on_cursor="#10151B",
    warning_mark="#E8B84B",
    between="rgba(108, 182, 255, 0.16)",
    grid="#22262B",
    idle="#7C848F",
    series=("#4E9DD0", "#41AF8B", "#C47AAF", "#D57C41", "#A08AC9", "#5B9DDE", "#4FB3BC", "#7C848F"),
)


def theme_named(name: str) -> Theme:
    """Return the dark theme for ``"dark"``, the light one for anything else."""
    return DARK if name == "dark" else LIGHT


def css_variables(theme: Theme, of: str | None = None) -> str:
    """Return the tokens as CSS custom properties: ``--accent-ground:#E8F1FB;...``.

    Args:
        theme: The colours.
        of: Rules of CSS; tokens that they do not use are left out.
    """
    values = {key: value for key, value in asdict(theme).items() if isinstance(value, str) and key != "name"}
    tokens = {f"--{key.replace('_', '-')}": value for key, value in values.items()}
    return "".join(f"{name}:{value};" for name, value in tokens.items() if of is None or f"var({name})" in of)
