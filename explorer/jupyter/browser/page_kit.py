"""The page kit: the style sheet and the scripts of the page, which the kernel sends to a notebook once.

Invariants: the state of a widget holds only the lines that ask for the kit, so that a saved notebook stays small. Kits
of two editions of the program in one notebook do not meet: each is known by a digest of its content. Rules for a
document apply to the root of the widget, widths to its place.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Final

from explorer.page.resources import FOLDER, SHEETS, module_text, plotly_script, scripts_text, tokens

_ROOT: Final = ".explorer"
_OWN: Final = """
:host { all: initial; display: block; }
.explorer { container: explorer / inline-size; position: relative; min-height: 0; border: 1px solid var(--line);
  border-radius: 8px; overflow: clip; }
.explorer > .awaited { padding: 14px 16px; color: var(--muted); }
#busy, #toast { position: absolute; }
#bar, #tabs, #notice, #silence { position: static; }
#strip { position: relative; top: 0; }
[data-home], .skip { display: none !important; }
a.part[data-home] { display: inline !important; color: inherit; pointer-events: none; }
"""


def style_sheet() -> str:
    """Return the rules; no part of them comes from a table."""
    sheet = "".join((FOLDER / name).read_text("utf-8") for name in SHEETS)
    sheet = re.sub(r"(?<![\w.#-])(?:html|body)(?=[\s\[:{,])", _ROOT, sheet)
    sheet = re.sub(r"@media \((min|max)-width", r"@container explorer (\1-width", sheet)
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return tokens(_ROOT) + sheet + _OWN


def _script(name: str) -> str:
    return module_text(Path(__file__).with_name(name))


PAGE_KIT: Final = gzip.compress(
    json.dumps({"rules": style_sheet(), "script": f"{scripts_text()}\n{_script('widget.js')}"}).encode(), 9, mtime=0
)
"""The ``rules`` and the ``script`` as JSON, compressed by gzip."""
_DIGEST: Final = hashlib.sha256(PAGE_KIT).hexdigest()[:16]


def waiting_script() -> str:
    """Return the script of a widget, which asks for the kit."""
    return _script("waiting.js").replace("DIGEST", _DIGEST)


@cache
def packed_plotly() -> bytes:
    """Return plotly.js, compressed by gzip."""
    return gzip.compress(plotly_script().read_bytes(), 6, mtime=0)
