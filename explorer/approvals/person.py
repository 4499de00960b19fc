"""People who ask and approve, as those who know them name them, and whether two of them are one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from explorer.core.protocol.json_values import JsonRecord


class Person(JsonRecord, frozen=True, kw_only=True):
    """A person with an identity that nobody types.

    Attributes:
        issuer: Who knows the person: the URL of an issuer, ``password file``, ``proxy``, or ``system`` and the machine.
        subject: The stable name there, which no other person ever has.
        name: The name for people, by which roles are given.
        email: The e-mail address; empty if not known.
        groups: The groups when this was written down.
    """

    issuer: str
    subject: str
    name: str
    email: str = ""
    groups: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What tells the account from all others."""
        return self.issuer, self.subject


def is_same_person(one: Person, other: Person, accounts: Iterable[Sequence[str]] = ()) -> bool:
    """Return whether two accounts are of one person, as far as anything says so.

    In doubt they are: a name without a domain is that of every address with this name. Two people who are taken for
    one cannot approve for each other, which others can do.

    Args:
        one, other: The accounts.
        accounts: Names and e-mail addresses of accounts that are of one person, a group each.
    """
    if one.key == other.key:
        return True
    names, others = set(_names(one)), set(_names(other))
    if not names.isdisjoint(others):
        return True
    if _has_bare_twin(names, others) or _has_bare_twin(others, names):
        return True
    for group in accounts:
        known = {folded(name) for name in group}
        if not known.isdisjoint(names) and not known.isdisjoint(others):
            return True
    return False


def folded(name: str) -> str:
    """Return a name or an e-mail address in the form in which two of them are compared; a tag after + is left out."""
    text = "".join(unicodedata.normalize("NFKC", name).split()).casefold()
    local, at, domain = text.partition("@")
    return f"{local.partition('+')[0] or local}{at}{domain}"


def _names(person: Person) -> Iterator[str]:
    yield from filter(None, map(folded, (person.name, person.email, person.subject)))


def _has_bare_twin(names: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether a name without a domain is the first part of an address of the other."""
    bare = {name for name in names if "@" not in name}
    return any(other.partition("@")[0] in bare for other in others if "@" in other)
