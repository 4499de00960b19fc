"""The first answer to a window: work in steps that waits briefly for other threads, and the page of a table whose older
commits are not read yet.

The early page has the newest version with schema and protocol, the commits since the newest checkpoint, and the
progress; nothing that follows from the full history (findings, lanes, tabs) is on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from explorer.page.address import Address
from explorer.page.pages import TABLE_REGIONS, Rendered, bar
from explorer.page.render import render, render_blocks
from explorer.page.strip import Screen, StripFigure, still_bars
from explorer.page.tables import TableReading
from explorer.views import TableFacts, TableView
from explorer.views.table.overview import overview_of

_ResultT = TypeVar("_ResultT")


class Wait(NamedTuple):
    """Go on when one of these is done, and after so many seconds in any case."""

    futures: tuple[Future[Any], ...]
    seconds: float


Steps: TypeAlias = Generator[Wait, None, _ResultT]


class Stepwise(Generic[_ResultT]):
    """Work in steps, of a generator that yields what it waits for; it is done once, however often it is asked for."""

    def __init__(self, steps: Steps[_ResultT]) -> None:
        self._steps = steps
        self._end: Future[_ResultT] = Future()

    def waited(self) -> _ResultT:
        """Return the result, or raise the error of the work; the calling thread waits for it."""
        while (step := self._next()) is not None:
            wait(step.futures, timeout=step.seconds, return_when=FIRST_COMPLETED)
        return self._end.result()

    async def awaited(self) -> _ResultT:
        """Return the same; the loop goes on meanwhile."""
        while (step := self._next()) is not None:
            await _one_done(step)
        return self._end.result()

    def _next(self) -> Wait | None:
        if self._end.done():
            return None
        try:
            return next(self._steps)
        except StopIteration as end:
            self._end.set_result(end.value)
        except Exception as error:  # noqa: BLE001  # raised again for the caller of the result
            self._end.set_exception(error)
        return None


async def _one_done(step: Wait) -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_future: Future[Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    for future in step.futures:
        future.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), step.seconds)


_NEWEST: Final = 12
PROGRESS = "table-reading"
"""The id of the element that says how far the reading is."""


def early_page(
    address: Address, facts: TableFacts, reading: TableReading, theme: str, screen: Screen, *, may_commit: bool
) -> Rendered:
    """Return what can be shown before the older commits are read.

    Args:
        address: What was asked for; the newest version is shown, whatever it was.
        facts: The newest part of the log.
        reading: The reading of all of it.
        theme: ``light`` or ``dark``.
        screen: The window's size.
        may_commit: Whether tables may be changed here.

    Raises:
        ExplorerError: The newest version cannot be shown.
    """
    view = TableView(facts, theme=theme, width=screen.strip, mapped=False, folded=screen.low)
    regions = dict.fromkeys(TABLE_REGIONS, "")
    newest = [facts.commits.record(version) for version in facts.commits.versions[: -_NEWEST - 1 : -1].tolist()]
    values = {"version": view.version, "commit": view.commit, "reading": reading, "facts": facts, "newest": newest}
    regions |= render_blocks("early", overview=overview_of(facts, view.version), address=address, **values)
    regions["bar"] = bar(address, facts.location, commit=view.commit, may_commit=may_commit)
    timeline = None
    if len(facts.commits):
        regions["still"] = still_bars(view.bars())
        timeline = StripFigure((id(facts), *view.timeline_key), view.drawn_timeline(), view.timeline_ends())
    return Rendered(
        regions,
        {"timeline-slot": timeline is None, "chart-card": True, "time": False, "tabs": True},
        title=f"{facts.name} v{view.version}",
        timeline=timeline,
        is_early=True,
    )


def reading_line(facts: TableFacts, reading: TableReading) -> str:
    """Return how far the reading is, as HTML."""
    return render("early-progress", facts=facts, reading=reading)
