"""Shared results as one person may open them: without what they say of tables that the person may not search."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from explorer.auditing.erasure import Erasure
from explorer.page.kept_results import KeptResult, KeptResults


class PersonalResults(KeptResults):
    """The results that people share, as one person may open them.

    Args:
        results: The results for all.
        narrowed: Returns a proof as the person may see it.
    """

    def __init__(self, results: KeptResults, narrowed: Callable[[Erasure], Erasure]) -> None:
        super().__init__()
        self._results, self._narrowed = results, narrowed

    def keep(self, about: Hashable, value: object, size: int, kind: str = "") -> str | None:
        """Keep a result for all; see `KeptResults.keep`."""
        return self._results.keep(about, value, size, kind)

    def find(self, id_: str, about: Hashable) -> KeptResult | None:
        """Return the result of an ID as the person may see it; see `KeptResults.find`."""
        result = self._results.find(id_, about)
        if result is None or not isinstance(result.value, dict):
            return result  # only the proofs of a search, by their conditions, name other tables than those it is about
        return replace(result, value={where: self._narrowed(proof) for where, proof in result.value.items()})
