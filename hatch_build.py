"""The page of the package index, and the project's links on it, for the build.

The repository names no host of its own. `PROJECT_URL` says where it is published, as the release workflow does; then
links and pictures of the README become absolute, and the index shows the project's links. Without it, links to files
become plain text and pictures are left out: a page of the index has no dead link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE: Final = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
_LINK: Final = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


class IndexPage(MetadataHookInterface):
    """Fills in the fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields."""
        address = os.environ.get("PROJECT_URL", "").rstrip("/")
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(text, address)}
        metadata["urls"] = project_urls(address)


def index_page(text: str, address: str) -> str:
    """Return the README for the index: links below ``address``, or as plain text if it is empty."""
    if not address:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    text = _PICTURE.sub(rf"![\1]({address}/raw/HEAD/\2)\n\n", text)
    return _LINK.sub(rf"[\1]({address}/blob/HEAD/\2)", text)


def project_urls(address: str) -> dict[str, str]:
    """Return the links beside the description."""
    if not address:
        return {}
    pages = {"Documentation": "docs/guide/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    files = {name: f"{address}/blob/HEAD/{path}" for name, path in pages.items()}
    return {"Source": address, "Issues": f"{address}/issues", **files}
