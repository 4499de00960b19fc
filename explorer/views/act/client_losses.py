"""Clients that can do less after a plan, the source of that, and what it means in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import Plan

__all__ = ["ClientLoss", "client_losses", "loss_summary", "lost_versions"]

_ACCESS: Final = {"yes": "yes", "no": "refuses", "wrong": "answers wrongly", "unknown": "unknown"}
_WORST: Final = (_ACCESS["wrong"], _ACCESS["no"], _ACCESS["unknown"])


@dataclass(frozen=True, slots=True)
class ClientLoss:
    """A client that can do less afterwards: from which version on, what, and the source."""

    client: str
    version_from: str
    operation: str
    before: str
    after: str
    severity: str
    because: str
    source: str
    as_of: str


def client_losses(plan: Plan) -> tuple[ClientLoss, ...]:
    sides = (("reads", plan.consequences.readers), ("writes", plan.consequences.writers))
    found = [_loss(record, operation) for operation, records in sides for record in records]
    return tuple(sorted(found, key=lambda loss: ("danger", "warning").index(loss.severity)))


def _loss(record: Mapping[str, Any], operation: str) -> ClientLoss:
    after = str(record.get("after", ""))
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
    )


def loss_summary(losses: Sequence[ClientLoss], operation: str = "") -> str:
    """Return how many client versions lose what, the worst first, each counted once; of one operation, or of both."""
    mine = [loss for loss in losses if operation in ("", loss.operation)]
    if not mine:
        return "no change"
    worst = {name: min(_gravity(loss) for loss in mine if _version(loss) == name) for name in map(_version, mine)}
    words = (("answers wrongly", "answer wrongly"), ("loses access", "lose access"), ("is unknown", "are unknown"))
    counts = [sum(place == kind for place in worst.values()) for kind in range(len(_WORST))]
    told = [(n, one if n == 1 else many) for n, (one, many) in zip(counts, words, strict=True) if n]
    (first, what), *rest = told
    return ", ".join([f"{fmt.plural(first, 'client version')} {what}", *(f"{n} {word}" for n, word in rest)])


def lost_versions(losses: Sequence[ClientLoss]) -> int:
    """Return how many client versions lose anything: one that loses reading and writing counts once."""
    return len(set(map(_version, losses)))


def _version(loss: ClientLoss) -> tuple[str, str]:
    return loss.client, loss.version_from


def _gravity(loss: ClientLoss) -> int:
    """The position among `_WORST`; 0 is the most serious."""
    return _WORST.index(loss.after) if loss.after in _WORST else len(_WORST) - 1
