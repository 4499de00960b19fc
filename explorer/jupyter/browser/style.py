"""The page's style sheet in the scope of a widget: rules for a document hold for its root, widths for its place."""

from __future__ import annotations

import re
from typing import Final

from explorer.page.resources import FOLDER, SHEET, tokens

__all__ = ["style_sheet"]

_ROOT: Final = ".explorer"
_OWN: Final = """
:host { all: initial; display: block; }
.explorer { container: explorer / inline-size; position: relative; min-height: 0; border: 1px solid var(--line);
  border-radius: 8px; overflow: clip; }
.explorer > .awaited { padding: 14px 16px; color: var(--muted); }
#busy, #toast { position: absolute; }
#bar, #ambient, #notice, #silence { position: static; }
[data-home], .skip { display: none !important; }
"""


def style_sheet() -> str:
    """Return the rules; no part of them comes from a table."""
    sheet = (FOLDER / SHEET).read_text("utf-8")
    sheet = re.sub(r"(?<![\w.#-])(?:html|body)(?=[\s\[:{,])", _ROOT, sheet)
    sheet = re.sub(r"@media \((min|max)-width", r"@container explorer (\1-width", sheet)
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return tokens(_ROOT) + sheet + _OWN
