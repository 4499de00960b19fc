"""The files of the page that a host carries to its screen: scripts, style sheet, fonts, and color tokens."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from explorer.views.figures.theme import DARK, LIGHT, css_variables

FOLDER: Final = Path(__file__).parent
SHEETS: Final = ("style/app.css", "style/palette.css")
"""The style sheets, in their order."""
SCRIPTS: Final = ("styled", "chart", "strip", "rows", "sharing", "palette", "page")
"""The modules under ``script``, each after those that it imports."""
FONTS: Final = {
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,"
    "U+2212,U+2215,U+FFFD",
    "latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,"
    "U+20A0-20AB,U+20AD-20C0,U+2113",
    "greek": "U+0370-03FF",
    "symbols": "U+2190,U+2192,U+2194-2199,U+2218-2219,U+2300-243F,U+25A0-27BF",
}
"""Subsets of the typeface, with the characters that each covers."""


@cache
def edition() -> str:
    """Return a digest of all files, for addresses that browsers may cache for good."""
    files = sorted(path for folder in ("script", "style") for path in (FOLDER / folder).rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def tokens(root: str) -> str:
    """Return the colors as CSS variables, light and dark.

    Args:
        root: The selector of the element that has the attribute ``data-theme``.
    """
    light, dark = css_variables(LIGHT), css_variables(DARK)
    # Paper is light, whatever the screen is.
    return f"{root}{{{light}}}{root}[data-theme=dark]{{{dark}}}@media print{{{root}[data-theme=dark]{{{light}}}}}"


def font_faces(folder: str) -> str:
    """Return the faces of the typeface.

    Args:
        folder: The address of the folder ``style``, ending with a slash.
    """
    return "".join(
        "@font-face{font-family:Roboto;font-style:normal;font-weight:100 900;font-display:swap;"
        f'src:url("{folder}fonts/roboto-{name}-wght-normal.woff2") format("woff2");unicode-range:{covers}}}'
        for name, covers in FONTS.items()
    )


def scripts_text() -> str:
    """Return the scripts as one module, which exports what each of them exports."""
    return "\n".join(module_text(FOLDER / "script" / f"{name}.js") for name in SCRIPTS)


def module_text(path: Path) -> str:
    """Return a module to be joined to others: without imports, lines of comments, and indentation."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "import ")))


@cache
def plotly_script() -> Path:
    """Return the file of plotly.js that belongs to the plotly package of this environment."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
