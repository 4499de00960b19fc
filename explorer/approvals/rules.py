"""Which changes need a second person: rules on places and kinds of intents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, TypeAlias, get_args

from explorer.core.errors import RequestError
from explorer.core.transaction.intents.documents import intent_kinds
from explorer.given_roles import place_of
from explorer.rights import EVERYWHERE, Place
from explorer.storage.served_roots import ServedRoots, missing_folder, named_place

Committer: TypeAlias = Literal["maker", "itself"]
"""Who commits an approved plan: the person who asked, or the program at once."""
COMMITTERS: Final[tuple[str, ...]] = get_args(Committer)


@dataclass(frozen=True, slots=True)
class GivenRule:
    """A rule as the configuration gives it.

    Attributes:
        tables: Names of tables, folders, or roots; empty for all.
        kinds: Kinds of intents; empty for all.
        commits: Who commits an approved plan.
    """

    tables: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    commits: str = "maker"


@dataclass(frozen=True, slots=True)
class GivenApprovals:
    """All of the configuration that approvals need.

    Attributes:
        rules: The rules.
        folder: The folder of the requests; None for one beside the activity record.
        valid_days: For how many days a request can be approved and committed.
        accounts: Names and e-mail addresses of accounts that are of one person, a group each.
    """

    rules: tuple[GivenRule, ...] = ()
    folder: str | None = None
    valid_days: float = 7.0
    accounts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """A rule.

    Attributes:
        places: On which tables: those inside these places.
        kinds: Which changes; empty for all.
        commits: Who commits an approved plan.
    """

    places: tuple[Place, ...] = (EVERYWHERE,)
    kinds: frozenset[str] = frozenset()
    commits: Committer = "maker"

    def is_about(self, place: Place, kind: str) -> bool:
        """Return whether a kind of change of a table needs a second person by this rule."""
        return (not self.kinds or kind in self.kinds) and any(place[: len(each)] == each for each in self.places)


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules.

    Attributes:
        rules: In their order; the first one that is about a change decides who commits it.
        accounts: Names and e-mail addresses of accounts that are of one person, a group each.
        valid_days: For how many days a request can be approved and committed.
    """

    rules: tuple[ApprovalRule, ...] = ()
    accounts: tuple[tuple[str, ...], ...] = ()
    valid_days: float = 7.0

    def of(self, place: Place, kind: str) -> ApprovalRule | None:
        """Return the rule by which a change needs a second person; None where it needs none."""
        return next((rule for rule in self.rules if rule.is_about(place, kind)), None)


def resolved_rules(
    given: Sequence[GivenRule],
    roots: ServedRoots,
    *,
    accounts: Sequence[Sequence[str]] = (),
    valid_days: float = 7.0,
) -> Rules:
    """Return the rules with the places of their tables.

    Raises:
        RequestError: A kind of change or a way to commit is not known, or a table is outside the served roots.
    """
    check_rules(given)
    rules = [
        ApprovalRule(
            tuple(_place(name, roots, f"two_people[{number}].tables") for name in rule.tables) or (EVERYWHERE,),
            frozenset(rule.kinds),
            "itself" if rule.commits == "itself" else "maker",
        )
        for number, rule in enumerate(given, 1)
    ]
    return Rules(tuple(rules), tuple(map(tuple, accounts)), valid_days)


def check_rules(given: Sequence[GivenRule]) -> None:
    """Check what can be checked of rules without the served tables.

    Raises:
        RequestError: A kind of change or a way to commit is not known.
    """
    for number, rule in enumerate(given, 1):
        field = f"two_people[{number}]"
        for kind in rule.kinds:
            _check_known(kind, intent_kinds(), f"{field}.kinds")
        _check_known(rule.commits, COMMITTERS, f"{field}.commits")


def _place(name: str, roots: ServedRoots, field: str) -> Place:
    """Return the place of what a rule names; a folder of this machine must exist: a typo would protect nothing."""
    ref = named_place(name, roots, field)
    if (missing := missing_folder(ref)) is not None:
        folder, _, near = missing
        above = name.strip("/").split("/")[: 1 + len(folder.relative_to(ref.root).parts)]
        hint = f"Did you mean {'/'.join((*above, near))}?" if near else "Correct the name."
        raise RequestError(f"{field}: there is nothing called {name!r}. {hint}", field=field, nearest=near)
    return place_of(ref)


def _check_known(given: str, known: Sequence[str], field: str) -> None:
    if given in known:
        return
    near = get_close_matches(given, known, 1)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
    raise RequestError(
        f"{field}: {given!r} is not known. {hint}", field=field, allowed=tuple(known), nearest=near[0] if near else None
    )
