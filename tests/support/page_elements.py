"""The elements and attributes that a browser would make of HTML."""

from html.parser import HTMLParser

__all__ = ["assert_harmless"]

ACTIVE = {"script", "img", "iframe", "object"}


class Elements(HTMLParser):
    """Collects them while it is fed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def assert_harmless(html: str) -> None:
    """Assert that no element would run or load anything, and that no attribute is a handler."""
    found = Elements()
    found.feed(html)
    assert not found.tags & ACTIVE
    assert not {name for name in found.attributes if name.startswith("on")}
