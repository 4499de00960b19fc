"""Clients that can do less after a plan, the source of that, and what it means in a few words.

Invariants: wrong answers and refusals are told apart, wrong answers first; clients in use and newest releases come
before older ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.compatibility.matrix import losses_in_words, releases_in_words
from explorer.core.transaction.commit_plan import Plan

__all__ = ["ClientLoss", "LossGroup", "client_losses", "loss_groups", "loss_summary", "lost_clients", "my_summary"]

_ACCESS: Final = {"yes": "yes", "no": "refuses", "wrong": "gets wrong results", "unknown": "unknown"}
_WORDS: Final = ("gets wrong results", "loses access", "is unknown")
_MOST_NAMED: Final = 3
_WORST: Final = (_ACCESS["wrong"], _ACCESS["no"], _ACCESS["unknown"])
_TITLES: Final = ("Wrong results", "Access lost", "Unknown")


@dataclass(frozen=True, slots=True)
class ClientLoss:
    """A client that can do less afterwards: which releases, what, and the source.

    ``mine`` is the version in use, of a named client, and ``owner`` its contact; ``newest`` if the newest
    known release is among them.
    """

    client: str
    releases: str
    newest: bool
    operation: str
    before: str
    after: str
    severity: str
    because: str
    source: str
    as_of: str
    mine: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class LossGroup:
    """Losses of one kind: ``first`` those of clients in use and of newest releases, ``older`` all others."""

    title: str
    first: tuple[ClientLoss, ...]
    older: tuple[ClientLoss, ...]


def client_losses(plan: Plan) -> tuple[ClientLoss, ...]:
    """Return the losses of a plan: the worst first, and of each kind clients in use before newest releases."""
    sides = (("reads", plan.consequences.readers), ("writes", plan.consequences.writers))
    losses = [_loss(record, operation) for operation, records in sides for record in records]
    return tuple(sorted(losses, key=lambda loss: (not loss.mine, _gravity(loss), not loss.newest)))


def loss_groups(losses: Sequence[ClientLoss]) -> tuple[LossGroup, ...]:
    """Return the losses by kind, the worst first; a kind without a loss is left out."""
    groups = []
    for gravity, title in enumerate(_TITLES):
        similar = [loss for loss in losses if _gravity(loss) == gravity]
        first = tuple(loss for loss in similar if loss.mine or loss.newest)
        if similar:
            groups.append(LossGroup(title, first, tuple(loss for loss in similar if loss not in first)))
    return tuple(groups)


def my_summary(losses: Sequence[ClientLoss]) -> str:
    """Return which clients in use lose what, the worst first; empty if none does."""
    worst: dict[str, int] = {}
    for loss in losses:
        if loss.mine:
            name = f"{fmt.shorten(loss.client, 40)} {fmt.shorten(loss.mine, 20)}"
            worst[name] = min(_gravity(loss), worst.get(name, len(_WORDS)))
    texts = [f"your {name} {_WORDS[kind]}" for name, kind in sorted(worst.items(), key=lambda item: item[1])]
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts[:_MOST_NAMED]) + (f" and {more} more of yours" if more > 0 else "")


def loss_summary(losses: Sequence[ClientLoss], operation: str = "") -> str:
    """Return how many clients lose what, the worst first, each counted once; of one operation, or of both."""
    kinds = ("wrong", "no", "unknown")
    stated = [loss for loss in losses if operation in ("", loss.operation) and not loss.mine]
    return losses_in_words((loss.client, kinds[_gravity(loss)], loss.newest) for loss in stated) or "no change"


def lost_clients(losses: Sequence[ClientLoss]) -> int:
    """Return how many clients lose anything in any release."""
    return len({loss.client for loss in losses})


def _loss(record: Mapping[str, Any], operation: str) -> ClientLoss:
    after, mine = str(record.get("after", "")), record.get("mine") or {}
    newest, version = bool(record.get("newest")), str(mine.get("version", ""))
    known = releases_in_words(str(record.get("versionFrom", "")), str(record.get("versionTo", "")), newest=newest)
    return ClientLoss(
        client=str(record.get("client", "")),
        releases=version or known,
        newest=newest,
        operation=operation,
        before=_ACCESS.get(str(record.get("before", "")), str(record.get("before", ""))),
        after=_ACCESS.get(after, after),
        severity="warning" if after == "unknown" else "danger",
        because=", ".join(map(str, record.get("because", ()))),
        source=str(record.get("source", "")),
        as_of=str(record.get("asOf", "")),
        mine=version,
        owner=str(mine.get("owner", "")),
    )


def _gravity(loss: ClientLoss) -> int:
    """Return the position among `_WORST`; 0 is the most serious."""
    return _WORST.index(loss.after) if loss.after in _WORST else len(_WORST) - 1
