"""A plan as the command that commits it, to paste into a shell."""

from __future__ import annotations

import json
import shlex

from explorer import formatting as fmt
from explorer.core.transaction.commit_plan import Plan
from explorer.core.transaction.intents.documents import intent_document
from explorer.views.act.intents.registry import headline

__all__ = ["commit_command"]

_LONGEST_REASON = 200


def commit_command(location: str, plan: Plan) -> str:
    """Return the command line that makes the same plan and commits it.

    Its reason says what the intent asks for, so that the command runs as it is; a person may write a better one.

    Args:
        location: The table's root as a URL.
        plan: The plan, with the guards that were accepted.
    """
    head = headline(plan.intent)
    reason = fmt.plain(f"{head.verb} {head.subject}".strip(), _LONGEST_REASON)
    intent = json.dumps(intent_document(plan.intent), ensure_ascii=False)
    accepted = [word for name in plan.accepted for word in ("--accept", name)]
    return shlex.join(["delta-explorer", "commit", location, intent, *accepted, "--reason", reason])
