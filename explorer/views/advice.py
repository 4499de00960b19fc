"""The next step that an error's own message ends with: a card shows it once, in place of the one for its kind."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["own_advice"]

_VERBS: Final = (
    "Add|Append|Ask|Change|Check|Choose|Clean|Clear|Close|Cluster|Compare|Copy|Correct|Create|Cut|Delete|Download|Drop|"
    "End|Enter|Fill|Find|Follow|Free|Give|Guard|Install|Leave|Let|Look|Make|Move|Name|Open|Publish|Purge|Put|Quote|Read|"
    "Remove|Rename|Replace|Request|Restore|Rewrite|Run|Save|Say|Search|Select|Serve|Set|Split|Start|Take|Try|Upgrade|"
    "Use|Verify|Wait|Write"
)
_ADVICE: Final = re.compile(
    rf"(?<=[.?!:)]) (?:(?:{_VERBS})\b|Do not\b|If not, |To [a-z]+(?: [a-z]+){{0,4}}[,:]"
    rf"|If [^.]+, (?:{_VERBS.lower()})\b|[A-Z][^.:;]*[:;] (?:{_VERBS.lower()})\b)"
)
"""Where a sentence after the first begins that asks for something, by itself, under a condition, or after a fact."""


def own_advice(message: str) -> str:
    """Return the end of a message that says what to do, as the message has it; empty if it only states facts.

    By the rule for errors the next step comes last. What follows the first sentence of it belongs to it: the other
    case, or what works meanwhile.
    """
    match = _ADVICE.search(message)
    return "" if match is None else message[match.start() :].strip()
