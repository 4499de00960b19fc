"""A person without a screen: who goes on only by the links and buttons that a page shows, found by their words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from explorer.page.address import address_of
from explorer.page.tables import Tables
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import Elements

__all__ = ["Follower"]

_CONTROLS = {"a": "link", "button": "button"}
_PATIENCE = 60  # s
_FIELDS = ("input", "select", "textarea")


@dataclass
class _Form:
    attributes: Mapping[str, str]
    answers: dict[str, str] = field(default_factory=dict)


@dataclass
class _Control:
    kind: str
    attributes: Mapping[str, str]
    form: _Form | None
    words: str = ""

    @property
    def name(self) -> str:
        return " ".join((self.attributes.get("aria-label") or self.words).split())


class _Controls(HTMLParser):
    """The links and buttons of a piece of HTML, and the forms that they are in."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[_Control] = []
        self.forms: list[_Form] = []
        self._form: _Form | None = None
        self._open: _Control | None = None
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = _Form(attributes)
            self.forms.append(self._form)
        elif tag in _FIELDS and self._form is not None and "name" in attributes:
            # One of several choices is sent if it is chosen.
            choice = attributes.get("type") in ("radio", "checkbox") and "checked" not in attributes
            self._form.answers.setdefault(attributes["name"], "" if choice else attributes.get("value", ""))
        elif tag in _CONTROLS:
            self._open = _Control(_CONTROLS[tag], attributes, self._form)
            self.found.append(self._open)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag in _CONTROLS:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open.words += data


class Follower:
    """One person on their way.

    Args:
        tables: The served tables.
        query: Where the way begins; the list of tables unless given.

    Attributes:
        tables: As given.
        steps: What was followed and pressed, by its words.
    """

    def __init__(self, tables: Tables, query: str = "") -> None:
        self.tables = tables
        self.window = Window(tables, query)
        self.steps: list[str] = []

    @property
    def regions(self) -> Mapping[str, Any]:
        """The parts of the page that is on show."""
        shown: Mapping[str, Any] = self.window.session.shown.regions
        return shown

    def text(self, region: str = "") -> str:
        """What can be read on the page, or in one of its parts."""
        parts = [self.regions.get(region, "")] if region else self.regions.values()
        return " ".join(" ".join(Elements(str(part)).text for part in parts).split())

    def see(self, words: str, region: str = "") -> str:
        """Wait until words are on the page; returns its text."""
        self.window.until(lambda _: words in self.text(region))
        return self.text(region)

    def follow(self, words: str, region: str = "") -> Follower:
        """Follow the first link with some words."""
        href = self._control("link", words, region).attributes["href"]
        if address_of(href).table and not address_of(self.window.session.query).table:
            self.window = Window(self.tables, href)
        else:
            self.window.ask("go", query=href)
        return self

    def press(self, words: str, region: str = "", **answers: str) -> Follower:
        """Press the first button with some words, after filling in fields of its form by their names."""
        control = self._control("button", words, region)
        if "data-do" in control.attributes:
            dataset = {name[5:]: value for name, value in control.attributes.items() if name.startswith("data-")}
            self.window.ask(dataset.pop("do"), **dataset)
            return self
        assert control.form is not None, f"{words!r} is in no form"
        return self._send(control.form, answers)

    def fill(self, name: str, value: str, region: str = "") -> Follower:
        """Fill in the first field of a name, and press Enter."""
        parts = [self.regions[region]] if region else self.regions.values()
        forms = [form for part in parts for form in _Controls(str(part)).forms if name in form.answers]
        assert forms, f"there is no field {name!r}"
        return self._send(forms[0], {name: value})

    def _send(self, form: _Form, answers: Mapping[str, str]) -> Follower:
        assert not answers.keys() - form.answers.keys(), f"the form has no such fields, but {form.answers}"
        filled = {name: value for name, value in (form.answers | answers).items() if value}
        if "data-send" in form.attributes:
            self.window.ask(form.attributes["data-send"], **filled)
        else:
            self.window.ask("go", query=f"?{urlencode(filled)}")
        return self

    def _control(self, kind: str, words: str, region: str) -> _Control:
        """Wait for a link or a button: of a table that is being read, the page comes in parts."""
        ends = time.monotonic() + _PATIENCE
        while not (matching := [each for each in self._controls(kind, region) if words in each.name]):
            names = [each.name for each in self._controls(kind, region)]
            assert time.monotonic() < ends, f"no {kind} {words!r} among {names}"
            self.window.turn()
        self.steps.append(matching[0].name)
        return matching[0]

    def _controls(self, kind: str, region: str) -> list[_Control]:
        parts = [self.regions.get(region, "")] if region else self.regions.values()
        return [each for part in parts for each in _Controls(str(part)).found if each.kind == kind]
