"""Exports of a page as a file, in the parts in which they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from explorer.page.tab_spec import Document, Exported, Page, Text
from explorer.spreadsheet import escaped_words
from explorer.views.listing import Listing

__all__ = ["export_files"]

_CHUNK = 1_000_000


def export_files(found: Exported, id_: str, format_: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that carry a file to the browser, and its signature if there is a key.

    Args:
        found: The export; a list as CSV says what was done to cells that a spreadsheet would run.
        id_: By which the browser puts the parts together.
        format_: ``csv``, ``json``, or ``copy`` for the clipboard.
    """
    key, note = found.key if isinstance(found, Document | Page) else None, ""
    match found:
        case Document():
            text, suffix, media = _json(found), "json", "application/json"
            what = found.what
        case Page():
            text, suffix, media, what = found.text, "html", "text/html", found.what
        case Text():
            text, suffix, media, what = found.text, "json", "application/json", found.what
        case Listing() if format_ == "json":
            text, suffix, media, what = found.to_json(), "json", "application/json", "list"
        case Listing():
            text, escaped = found.csv()
            suffix, media, what, note = "csv", "text/csv", "list", escaped_words(escaped)
    name = f"{found.name}.{suffix}"
    yield from _parts(id_, name, media, what, text, copy=format_ == "copy", note=note)
    if key is not None:
        signature = key.sign(text.encode()).decode()
        yield from _parts(f"{id_}-signature", f"{name}.sig", "text/plain", "signature", signature)


def _parts(
    id_: str, name: str, media: str, what: str, text: str, *, copy: bool = False, note: str = ""
) -> Iterator[dict[str, Any]]:
    file = {"kind": "file", "id": id_, "copy": copy, "name": name, "type": media, "note": note}
    for start in range(0, max(len(text), 1), _CHUNK):
        end = start + _CHUNK
        yield {**file, "what": what, "text": text[start:end], "done": end >= len(text)}


def _json(document: Document) -> str:
    if document.compact:
        return msgspec.json.encode(document.content).decode() + "\n"
    return json.dumps(document.content, ensure_ascii=False, indent=2)
