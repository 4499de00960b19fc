"""The elements, attributes and text that a browser would make of HTML."""

from html.parser import HTMLParser

__all__ = ["Elements", "assert_harmless"]

ACTIVE = {"script", "img", "iframe", "object"}


class Elements(HTMLParser):
    """The elements, attributes and text of a piece of HTML, as a browser would take them apart."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(str(markup))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_harmless(html: str) -> None:
    """Assert that no element would run or load anything, and that no attribute is a handler."""
    found = Elements(html)
    assert not ACTIVE.intersection(found.names)
    assert not {name for name, _ in found.attributes if name.startswith("on")}
