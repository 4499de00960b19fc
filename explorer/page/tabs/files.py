"""The Files tab: the layout of a version, its live files, and the card of one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from explorer import formatting as fmt
from explorer.core.errors import NotAllowed
from explorer.core.protocol.table_properties.registry import AUTO_COMPACT
from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.window import Handler, Message, NewWindow, Window, WindowWork
from explorer.views import TableView
from explorer.views.layout.chart import binary_size, partition_bars, size_bars, target_words
from explorer.views.layout.file_card import FileCard, file_card
from explorer.views.layout.footer_work import FooterWork
from explorer.views.layout.groups import FILE_COLOURINGS, writer_key, writer_of
from explorer.views.layout.layout import FileChoice, TableLayout, chosen_files, table_layout
from explorer.views.layout.optimize import optimize_estimate
from explorer.views.listing import Listing
from explorer.views.problems import LACKS_RIGHT, problem_of

_LONGEST_PATH = 4_000
_MEBIBYTE = 1 << 20


class LayoutWork:
    """What one window reads of single files.

    Args:
        window: The window.
    """

    def __init__(self, window: NewWindow) -> None:
        self.footers = FooterWork(window.changed)

    def stop_reading(self) -> None:
        """Stop a footer that is being read."""
        self.footers.cancel()


@dataclass(frozen=True, slots=True)
class ChoiceChip:
    """One thing by which the list is filtered, and the address without it."""

    text: str
    href: str


def _files(view: TableView, address: Address, work: WindowWork) -> Tab:
    facts, version = view.facts, view.version
    footers = work.of(LayoutWork).footers
    choice = _choice(address)
    layout = table_layout(facts, version, address.files_by)  # type: ignore[arg-type]  # the address checks it
    values = {
        "layout": layout,
        "layout_bars": partition_bars(layout),
        "size_bars": size_bars(layout),
        "target_words": target_words(layout.target),
        "binary_size": binary_size,
        "choice": choice,
        "chips": _chips(address, layout),
        "colourings": FILE_COLOURINGS,
        "small_key": _small_key(layout),
        "estimate": optimize_estimate(facts, version, layout) if layout.files else None,
        "optimize": _optimize(address, layout),
        "optimize_command": _command(facts.location, layout),
        "auto_compact": address.setting(AUTO_COMPACT.key, "true"),
        "writer_key": writer_key,
        "file_card": _card(view, address.file) if address.file else None,
        "footer": footers.footer(view, address.file) if address.file else None,
        "footer_job": footers.state(view, address.file),
        "alerts": facts.alerts(version),
        "ticks": Ticks(address) if work.picks_files else None,
    }
    return Tab(values | listed(chosen_files(facts, version, choice), address))


def _card(view: TableView, name: str) -> FileCard | None:
    """Return the card of a file; its bounds are values of rows, for those alone who may read these."""
    card = file_card(view.facts, view.version, name)
    if card is None or view.values or not card.bounds:
        return card
    error = NotAllowed("Bounds are values of rows, and you may not read rows of this table.", reason=LACKS_RIGHT)
    return replace(card, bounds=(), more_bounds=0, problem=problem_of(error))


def _choice(address: Address) -> FileChoice:
    return FileChoice(address.partition, address.sizes, address.group)


def _small_key(layout: TableLayout) -> str:
    return "" if layout.small is None else f"0-{layout.small.limit}"


def _chips(address: Address, layout: TableLayout) -> tuple[ChoiceChip, ...]:
    """Return what the list is filtered by, each with the address without it."""
    choice, chips = _choice(address), []
    if choice.partition:
        first, _, last = choice.partition.partition("\x1f")
        chips.append(ChoiceChip(f"{first} to {last}" if last else first, address.to(partition=None, page=None)))
    if choice.sizes:
        low, high = choice.range or (0, 0)
        text = f"under {binary_size(high)}" if not low else f"{binary_size(low)} to {binary_size(high)}"
        chips.append(ChoiceChip(text, address.to(sizes=None, page=None)))
    if choice.group:
        known = next((each.group.label for each in layout.groups if each.group.key == choice.group), "")
        chips.append(ChoiceChip(known or writer_of(choice.group).words, address.to(group=None, page=None)))
    return tuple(ChoiceChip(fmt.shorten(fmt.plain(chip.text), 60), chip.href) for chip in chips)


def _optimize(address: Address, layout: TableLayout) -> str:
    """Return the address of the form of an OPTIMIZE with the target of the table."""
    size = layout.target.size
    answers = {"mebibytes": f"{size / _MEBIBYTE:g}"} if layout.target.is_set and size % _MEBIBYTE == 0 else {}
    return address.filled("optimize", answers)


def _command(location: str, layout: TableLayout) -> str:
    intent: dict[str, object] = {"kind": "optimize"}
    if layout.target.is_set:
        intent["targetSize"] = layout.target.size
    return shlex.join(["delta-explorer", "plan", location, json.dumps(intent)])


class Ticks:
    """The selected files of an address, and the address with one file more or less.

    Attributes:
        paths: The selected files, in the order in which they were selected.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self.paths = tuple(address.picked.splitlines())

    def has(self, path: str) -> bool:
        """Return whether a file is selected."""
        return path in self.paths

    def turned(self, path: str) -> str:
        """Return the address with a file selected, or let go if it was."""
        left = [known for known in self.paths if known != path]
        return self._address.to(picked="\n".join(left if self.has(path) else [*left, path]) or None)

    def none(self) -> str:
        """Return the address without a selected file."""
        return self._address.to(picked=None)


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(chosen_files(view.facts, view.version, _choice(address)), address)


def _start(window: Window, message: Message) -> None:
    if window.view is not None:
        name = message.text("path", _LONGEST_PATH)
        window.begin(partial(window.work.of(LayoutWork).footers.start, window.view, name))
    window.answer(message)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(LayoutWork).footers.cancel()
    window.answer(message)


def _messages(window: Window) -> Mapping[str, Handler]:
    return {"footer": partial(_start, window), "footer-cancel": partial(_cancel, window)}


TAB = TabSpec(
    "files",
    "Files",
    "files",
    _files,
    exports={"files": _export},
    messages=_messages,
    work=LayoutWork,
    shows=("files",),
)
