"""Where our commits differ from those of the reference writer, step by step, and why.

A difference names the beginnings of the paths that differ, as `commit_comparison` gives them; ``refused`` stands for
InvalidIntent and ``guard NAME`` for a guard that fails, and then nothing is written that could be compared. A step that
the reference refused and that passes here has no paths.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DIFFERENCES", "GONE", "Difference"]


class Difference(msgspec.Struct, frozen=True):
    """One step: the paths that differ, and the justification."""

    paths: tuple[str, ...]
    reason: str


_NOTHING: Final = Difference(
    ("guard changes-something",),
    "The reference commits although nothing changes, which costs every other writer its race for the version.",
)
_NEVER_DOWN: Final = Difference(
    ("guard changes-something", "guard protocol-upgrade"),
    "The reference takes a version below the present one for fulfilled and commits nothing new; here a person who asks "
    "for a lower protocol is told that there is no way down.",
)
_LISTS: Final = (
    "The reference ignores version 7 without a feature and commits nothing new. Asked for by name it is legal: the old "
    "version's features are written out (FEAT-005)."
)
_UNWRITTEN: Final = Difference(
    ("guard protocol-allows-writer",),
    "The table has, or would get, features whose writer rules this program does not implement (FEAT-002).",
)
_NOT_A_PROPERTY: Final = "It is in the protocol and no property; the reference commits and nothing changes."

DIFFERENCES: Final[dict[str, Difference]] = {
    # Properties.
    "properties#4": _NOTHING,
    "properties#6": _NOTHING,
    "properties#7": _NOTHING,
    "properties#45": Difference(
        ("metaData.description",),
        "The reference leaves an empty description; without one the field is left out, as UNSET of comment does there.",
    ),
    "properties#52": Difference(("refused",), _NOT_A_PROPERTY),
    "properties#55": Difference(
        ("refused",), "A setting of the Spark session allowed unknown properties; there is no such setting here."
    ),
    "in-commit-timestamps#2": Difference(
        ("refused",),
        "The version since which commits carry their time would be wrong, and with it every search by time (ICT-003).",
    ),
    # Protocol.
    "protocol-upgrade#3": _NEVER_DOWN,
    "protocol-upgrade#5": _NEVER_DOWN,
    "protocol-upgrade#7": Difference(
        ("guard changes-something", "guard protocol-upgrade"),
        "Reader version 2 stands for column mapping, which writer version 4 does not have; the reference commits "
        "nothing new.",
    ),
    "protocol-upgrade#10": Difference(("protocol",), _LISTS),
    "protocol-upgrade#11": Difference(("protocol",), _LISTS),
    "protocol-upgrade#12": _NEVER_DOWN,
    "protocol-upgrade#17": _NOTHING,
    "protocol-upgrade#19": Difference(("refused",), _NOT_A_PROPERTY),
    "protocol-upgrade#21": _NEVER_DOWN,
    "protocol-upgrade#22": Difference(
        ("commitInfo.operationParameters.properties",),
        "The Python call keeps the case of the key, SQL writes it small; the intent follows SQL.",
    ),
    "protocol-features#9": _UNWRITTEN,
    "protocol-features#10": _UNWRITTEN,
    "protocol-features#11": _UNWRITTEN,
    "protocol-features#13": _UNWRITTEN,
    "protocol-features#14": _UNWRITTEN,
    "protocol-features#15": _UNWRITTEN,
    "protocol-features#16": _UNWRITTEN,
    # Restoring.
    "append-only#10": Difference(
        ("guard append-only",),
        "The reference restores an append-only table, which takes files with rows out of it (CONSTR-001).",
    ),
    # Constraints.
    "constraints#21": Difference(
        ("refused",), "DROP CONSTRAINT IF EXISTS of one that does not exist: the reference commits nothing new."
    ),
    "constraints#34": Difference(
        ("refused",), "The reference lets UNSET remove a constraint unseen; here constraints go by drop-constraint."
    ),
    "constraints-null#4": Difference(
        ("commitInfo.operationParameters.expr", "metaData.configuration.delta.constraints.q"),
        "The reference splits the text 'it''s' into two, which Spark joins to 'its': it lets \"it's\" pass.",
    ),
    "constraints-null#9": Difference(
        ("refused",), "A subquery in a CHECK: the reference takes it on an empty table, and every later write fails."
    ),
    "constraints-null#12": Difference(
        ("refused",), "A random value in a CHECK: the reference takes it, and every later write fails."
    ),
    # Columns and new tables.
    "identity#10": Difference(
        ("guard changes-something", "guard identity-mark"),
        "No value lies beyond the mark, as ever with GENERATED ALWAYS; the reference commits and nothing changes.",
    ),
    "not-null-nested#2": Difference(
        ("refused",),
        "A setting of the Spark session dropped the NOT NULL inside the array silently; there is no such setting here.",
    ),
    "timestamp-ntz#2": Difference(
        (),
        "The reference asks for the feature by a command of its own; here it comes with the type, and who loses "
        "access by it is told before the commit.",
    ),
    "type-widening#12": Difference(
        (), "As with a new column of this type: the feature comes with the change, and who loses access is told before."
    ),
    # Column mapping.
    "column-mapping#35": Difference(
        ("guard mapping-mode",), "Taking the mapping off rewrites every file, which no intent does."
    ),
    "column-mapping#36": Difference(
        ("commitInfo", "remove", "add"),
        "The mode is none already, so no file has to be written anew; the reference rewrites all of them.",
    ),
}

GONE: Final[frozenset[str]] = frozenset(
    f"drop-feature-truncate-history#{number}" for number in (3, 4, 6, 7, 9, 10, 11, 13)
)
"""Steps whose table cannot be brought back: the history before them was removed by a later step."""
