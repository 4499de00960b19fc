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


def export_files(exported: Exported, id_: str, format_: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that carry a file to the browser, and its signature if there is a key.

    Args:
        exported: The export; a list as CSV says what was done to cells that a spreadsheet would run.
        id_: By which the browser puts the parts together.
        format_: ``csv``, ``json``, or ``copy`` for the clipboard.
    """
    key, note = exported.key if isinstance(exported, Document | Page) else None, ""
    match exported:
        case Document():
            text, suffix, media = _json(exported), "json", "application/json"
            what = exported.what
        case Page():
            text, suffix, media, what = exported.text, "html", "text/html", exported.what
        case Text():
            text, suffix, media, what = exported.text, "json", "application/json", exported.what
        case Listing() if format_ == "json":
            text, suffix, media, what = exported.to_json(), "json", "application/json", "list"
        case Listing():
            text, escaped = exported.csv()
            suffix, media, what, note = "csv", "text/csv", "list", escaped_words(escaped)
    name = f"{exported.name}.{suffix}"
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
