"""Which values of which facets a person chose, as one text for an address: ``feature:rowTracking,clustering;size:1G``.

Values of one facet are alternatives; facets narrow each other. Invariant: a choice and its text are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from explorer.core.errors import RequestError

FACETS: Final[Mapping[str, str]] = {
    "finding": "Finding",
    "feature": "Table feature",
    "protocol": "Protocol",
    "writer": "Writer",
    "engine": "Engine",
    "owner": "Owner",
    "catalog": "Catalog",
    "folder": "Folder",
    "silent": "Last commit",
    "size": "Size",
    "files": "Files",
    "type": "Column type",
    "column": "Column",
}
"""The facets, in the order in which they are shown, and their titles."""
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class FacetChoice:
    """The chosen values by facet; a facet without one is left out."""

    values: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def parse(cls, text: str) -> FacetChoice:
        """Read a choice.

        Raises:
            RequestError: It names a facet that does not exist, or too many values.
        """
        chosen: dict[str, tuple[str, ...]] = {}
        parts = text.split(";", _MOST)
        for part in filter(None, parts[:_MOST]):
            name, _, values = part.partition(":")
            if name not in FACETS:
                message = f"There is no facet {name[:40]!r}. Tables can be filtered by: {', '.join(FACETS)}."
                raise RequestError(message, field="facet", allowed=tuple(FACETS))
            read = tuple(unquote(value) for value in values.split(",") if value)
            chosen[name] = tuple(dict.fromkeys((*chosen.get(name, ()), *read)))
        if len(parts) > _MOST or sum(map(len, chosen.values())) > _MOST:
            raise RequestError(f"facet names more than {_MOST} values. Choose fewer.", field="facet")
        return cls(tuple((name, chosen[name]) for name in FACETS if chosen.get(name)))

    @property
    def text(self) -> str:
        """The choice as `parse` reads it."""
        return ";".join(
            f"{name}:{','.join(quote(value, safe='/ ', errors='surrogateescape') for value in values)}"
            for name, values in self.values
        )

    @property
    def count(self) -> int:
        """How many values are chosen."""
        return sum(len(values) for _, values in self.values)

    def of(self, name: str) -> tuple[str, ...]:
        """Return the chosen values of a facet."""
        return dict(self.values).get(name, ())

    def turned(self, name: str, value: str) -> FacetChoice:
        """Return the choice with a value chosen that was not, or not chosen that was."""
        chosen = dict(self.values)
        before = chosen.get(name, ())
        chosen[name] = tuple(each for each in before if each != value) if value in before else (*before, value)
        return FacetChoice(tuple((each, chosen[each]) for each in FACETS if chosen.get(each)))
