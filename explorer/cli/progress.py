"""Jobs on the command line: a progress bar on a terminal, and Ctrl-C that cancels."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from explorer import formatting as fmt
from explorer.cli.output import later

if TYPE_CHECKING:
    from explorer.job import Job

__all__ = ["followed", "waiting"]

_POLL_SECONDS: Final = 0.1


def waiting(job: Job[Any]) -> Any:
    """Wait for a job's result, with progress; Ctrl-C cancels it."""
    try:
        with followed(job):
            while job.state == "running":
                with contextlib.suppress(TimeoutError):
                    job.result(_POLL_SECONDS)
        return job.result()
    finally:
        job.cancel()


@contextlib.contextmanager
def followed(job: Job[Any]) -> Iterator[None]:
    """A progress bar on a terminal's stderr for what takes more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    progress = Progress(*parts, console=Console(stderr=True, markup=False, emoji=False), transient=True)
    task = progress.add_task(fmt.plain(job.phase), total=None)

    def update(changed: Job[Any]) -> None:
        progress.update(task, description=fmt.plain(changed.phase), completed=changed.done, total=changed.total or None)

    unsubscribe = job.subscribe(update)
    try:
        with later(progress):
            yield
    finally:
        unsubscribe()
