"""The form of a change as controls: one for each question, by the kind of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import ipywidgets

from explorer import formatting as fmt
from explorer.core.versions.snapshot import Snapshot
from explorer.jupyter.markup import tag
from explorer.jupyter.parts import text
from explorer.views.act.answer_check import Check
from explorer.views.act.intent_form import IntentForm, intent_form
from explorer.views.act.intents.fields import FormField
from explorer.views.act.intents.hints import column_suggestions

__all__ = ["AnswerForm"]

_WIDE: Final = {"width": "auto", "max_width": "640px"}
_UNNAMED: Final = {"description_width": "0"}


class AnswerForm(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """The questions of one kind of change, and the answers given so far.

    Args:
        changed: Called when an answer changes.

    Attributes:
        controls: By the answer's name; those to a list of keys and values are ``key.0``, ``value.0``, those to a list
            of choices ``name.0``.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._asked: object = None
        self._notes: dict[str, Any] = {}
        self._ticked: dict[str, str] = {}
        self._drawing = False
        self.controls: dict[str, Any] = {}
        super().__init__([])

    @property
    def answers(self) -> dict[str, str]:
        """The answers by their names."""
        given = {name: self._answer(name, control) for name, control in self.controls.items()}
        return {name: text for name, text in given.items() if text}

    def ask(self, kind: str, snapshot: Snapshot, answers: Mapping[str, str]) -> IntentForm:
        """Show the questions of a kind with answers; questions that stay keep their controls."""
        form = intent_form(kind, snapshot, answers)
        asked = kind, snapshot.version, [_shape(field, answers) for field in form.fields], form.why_not
        if asked == self._asked:
            self._offer_keys(form)
            return form
        self._asked, self._drawing = asked, True
        try:
            self.controls, self._notes, self._ticked = {}, {}, {}
            self.children = [self._question(field, snapshot, answers) for field in form.fields if not form.why_not]
        finally:
            self._drawing = False
        return form

    def forget(self) -> None:
        """Show no question."""
        self._asked, self.controls, self._notes, self.children = None, {}, {}, []

    def show(self, check: Check) -> None:
        """Show what is wrong with an answer, or a hint for it, beside it."""
        for name, note in self._notes.items():
            error, hint = check.errors.get(name), check.hints.get(name)
            shown = tag("p", error, class_="dte-wrong", role="alert") if error else None
            shown = shown or (tag("p", hint, class_="dte-caption") if hint else None)
            note.value = shown or ""

    def _question(self, field: FormField, snapshot: Snapshot, answers: Mapping[str, str]) -> Any:
        label = tag("div", tag("b", field.label), " ", tag("span", field.help, class_="dte-caption"))
        parts: list[Any]
        match field.kind:
            case "pairs":
                parts = self._pairs(field, answers)
            case "checks":
                parts = [self._ticks(field, place, answers) for place in range(len(field.choices))]
            case _:
                parts = [self._add(field.name, _control(field, snapshot)), self._note(field.name)]
        return ipywidgets.VBox([text(label), *parts])

    def _pairs(self, field: FormField, answers: Mapping[str, str]) -> list[Any]:
        """A row for each key and its value, and one more."""
        rows = []
        known = tuple(choice.value for choice in field.choices)
        for place in range(_pairs_given(answers) + 1):
            key, value = f"key.{place}", f"value.{place}"
            examples = (field.placeholder, field.pair[2]) if not place else field.pair[:2]
            keys = ipywidgets.Combobox(
                options=known, value=answers.get(key, ""), placeholder=examples[0],
                continuous_update=False, tooltip=field.pair[0], layout={"width": "320px"},
            )  # fmt: skip
            values = ipywidgets.Text(
                value=answers.get(value, ""), placeholder=examples[1],
                continuous_update=False, tooltip=field.pair[1], layout={"width": "320px"},
            )  # fmt: skip
            rows += [ipywidgets.HBox([self._add(key, keys), self._add(value, values)]), self._note(key)]
        return rows

    def _offer_keys(self, form: IntentForm) -> None:
        """Offer the keys that are like what was typed, where there are too many for all of them."""
        for field in form.fields:
            known = tuple(choice.value for choice in field.choices)
            for name, control in self.controls.items():
                if field.kind == "pairs" and name.startswith("key.") and control.options != known:
                    control.options = known

    def _ticks(self, field: FormField, place: int, answers: Mapping[str, str]) -> Any:
        choice, name = field.choices[place], f"{field.name}.{place}"
        self._ticked[name] = choice.value
        said = f" ({choice.why_not or choice.hint})" if choice.why_not or choice.hint else ""
        box = ipywidgets.Checkbox(
            value=answers.get(name) == choice.value, description=fmt.plain(choice.label + said, 200), indent=False,
            disabled=bool(choice.why_not), layout={"width": "auto"},
        )  # fmt: skip
        return self._add(name, box)

    def _add(self, name: str, control: Any) -> Any:
        self.controls[name] = control
        control.observe(self._answered, "value")
        return control

    def _note(self, name: str) -> Any:
        note = self._notes[name] = text()
        return note

    def _answer(self, name: str, control: Any) -> str:
        if name in self._ticked:
            return self._ticked[name] if control.value else ""
        return str(control.value or "")

    def _answered(self, _change: object) -> None:
        if not self._drawing:
            self._changed()


def _control(field: FormField, snapshot: Snapshot) -> Any:
    shared = {"placeholder": field.placeholder, "tooltip": field.label, "continuous_update": False}
    match field.kind:
        case "code" | "prose":
            return ipywidgets.Textarea(value=field.value, rows=3, layout=_WIDE, style=_UNNAMED, **shared)
        case "choice" | "options":
            options = [(_said(choice.label, choice.why_not or choice.hint), choice.value) for choice in field.choices]
            options = options if field.value else [("choose\u2026", ""), *options]
            return ipywidgets.Dropdown(options=options, value=field.value, tooltip=field.label, layout=_WIDE)
        case "column":
            known = tuple(name for name, _ in column_suggestions(snapshot, ""))
            return ipywidgets.Combobox(value=field.value, options=known, layout=_WIDE, **shared)
        case _:
            return ipywidgets.Text(value=field.value, layout=_WIDE, **shared)


def _said(label: str, more: str) -> str:
    return fmt.plain(f"{label}: {more}" if more else label, 160)


def _shape(field: FormField, answers: Mapping[str, str]) -> object:
    """What the controls of a question follow from."""
    rows = _pairs_given(answers) if field.kind == "pairs" else 0
    choices = () if field.kind == "pairs" else field.choices
    return field.name, field.kind, field.label, choices, rows


def _pairs_given(answers: Mapping[str, str]) -> int:
    """How many rows of keys and values are in use."""
    places = [name.partition(".")[2] for name, text in answers.items() if text and name.startswith(("key.", "value."))]
    return max((int(place) + 1 for place in places if place.isdecimal()), default=0)
