"""Clients that can do less after a plan, the source of that, and what it means in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import Plan

__all__ = ["ClientLoss", "client_losses", "loss_summary", "lost_versions", "my_summary"]

_ACCESS: Final = {"yes": "yes", "no": "refuses", "wrong": "answers wrongly", "unknown": "unknown"}
_WORDS: Final = ("answers wrongly", "loses access", "is unknown")
_MOST_NAMED: Final = 3
_WORST: Final = (_ACCESS["wrong"], _ACCESS["no"], _ACCESS["unknown"])


@dataclass(frozen=True, slots=True)
class ClientLoss:
    """A client that can do less afterwards: from which version on, what, and the source.

    ``mine`` is the version in use, of a client that somebody named, and ``owner`` who to ask.
    """

    client: str
    version_from: str
    operation: str
    before: str
    after: str
    severity: str
    because: str
    source: str
    as_of: str
    mine: str = ""
    owner: str = ""


def client_losses(plan: Plan) -> tuple[ClientLoss, ...]:
    sides = (("reads", plan.consequences.readers), ("writes", plan.consequences.writers))
    found = [_loss(record, operation) for operation, records in sides for record in records]
    return tuple(sorted(found, key=lambda loss: (not loss.mine, ("danger", "warning").index(loss.severity))))


def my_summary(losses: Sequence[ClientLoss]) -> str:
    """Return which clients in use lose what, the worst first; empty if none does."""
    worst: dict[str, int] = {}
    for loss in losses:
        if loss.mine:
            name = f"{fmt.shorten(loss.client, 40)} {fmt.shorten(loss.mine, 20)}"
            worst[name] = min(_gravity(loss), worst.get(name, len(_WORDS)))
    told = [f"your {name} {_WORDS[kind]}" for name, kind in sorted(worst.items(), key=lambda item: item[1])]
    more = len(told) - _MOST_NAMED
    return ", ".join(told[:_MOST_NAMED]) + (f" and {more} more of yours" if more > 0 else "")


def _loss(record: Mapping[str, Any], operation: str) -> ClientLoss:
    after, mine = str(record.get("after", "")), record.get("mine") or {}
    return ClientLoss(
        client=str(record.get("client", "")),
        version_from=str(record.get("versionFrom", "")),
        operation=operation,
        before=_ACCESS.get(str(record.get("before", "")), str(record.get("before", ""))),
        after=_ACCESS.get(after, after),
        severity="warning" if after == "unknown" else "danger",
        because=", ".join(map(str, record.get("because", ()))),
        source=str(record.get("source", "")),
        as_of=str(record.get("asOf", "")),
        mine=str(mine.get("version", "")),
        owner=str(mine.get("owner", "")),
    )


def loss_summary(losses: Sequence[ClientLoss], operation: str = "") -> str:
    """Return how many client versions lose what, the worst first, each counted once; of one operation, or of both."""
    stated = [loss for loss in losses if operation in ("", loss.operation) and not loss.mine]
    if not stated:
        return "no change"
    worst = {name: min(_gravity(loss) for loss in stated if _version(loss) == name) for name in map(_version, stated)}
    words = (("answers wrongly", "answer wrongly"), ("loses access", "lose access"), ("is unknown", "are unknown"))
    counts = [sum(place == kind for place in worst.values()) for kind in range(len(_WORST))]
    told = [(n, one if n == 1 else many) for n, (one, many) in zip(counts, words, strict=True) if n]
    (first, what), *rest = told
    return ", ".join([f"{fmt.plural(first, 'client version')} {what}", *(f"{n} {word}" for n, word in rest)])


def lost_versions(losses: Sequence[ClientLoss]) -> int:
    """Return how many client versions lose anything: one that loses reading and writing counts once."""
    return len({_version(loss) for loss in losses if not loss.mine})


def _version(loss: ClientLoss) -> tuple[str, str]:
    return loss.client, loss.version_from


def _gravity(loss: ClientLoss) -> int:
    """The position among `_WORST`; 0 is the most serious."""
    return _WORST.index(loss.after) if loss.after in _WORST else len(_WORST) - 1
