"""Waiting for a condition in a page whose Content-Security-Policy forbids scripts to be made of text."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["wait_until"]

_WITHIN = 30_000  # ms


def wait_until(page: Any, condition: str, arg: Any = None, *, every: int = 20, within: int = _WITHIN) -> Any:
    """Wait until a condition holds in a page.

    Playwright's ``wait_for_function`` evaluates text in the page at each poll, which the policy of the pages blocks.
    ``evaluate`` runs from outside the page and is not blocked.

    Args:
        page: The browser's page.
        condition: An expression of JavaScript, or a function of `arg`.
        arg: What the function is given.
        every: Milliseconds between two looks.
        within: Milliseconds until the wait is given up.

    Returns:
        The value of the condition, which is true in a boolean context.

    Raises:
        playwright.sync_api.TimeoutError: The condition did not come true.
    """
    from playwright.sync_api import Error, TimeoutError  # noqa: A004  # Playwright's own

    end = time.monotonic() + within / 1e3
    while True:
        try:
            value = page.evaluate(condition, arg)
        except Error as error:
            if "navigat" not in error.message and "context was destroyed" not in error.message:
                raise
            value = None
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"Not within {within} ms: {condition}")
        page.wait_for_timeout(every)
