"""The settings of the site: ``make docs`` builds it in build/site. Its pages ask no other host for anything."""

from __future__ import annotations

from typing import Any

from explorer.version import VERSION
from tests.cli.reference import render_whole

project = "Delta Table Explorer"
author = "The Delta Table Explorer authors"
copyright = author  # noqa: A001 (Sphinx's name)
release = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["index.md", "guide/**.md", "cli.md", "api.md", "architecture.md"]
myst_heading_anchors = 3
# A drawing stays its own text: to draw it, the page would load a script of two megabytes.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_use_ivar = True
# Single backticks in docstrings name code.
default_role = "code"

html_theme = "furo"
html_title = f"Delta Table Explorer {VERSION}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False


def setup(app: Any) -> None:
    """Give the page of the command line every option of each command; the repository keeps the list of commands."""
    app.connect("source-read", _with_options)


def _with_options(_: Any, page: str, source: list[str]) -> None:
    if page == "cli":
        source[0] = render_whole()
