"""Who set each column, property, constraint and feature of a table to its current state, when and why.

Protocol sections: Change Metadata, Commit Provenance Information. Invariants: a name means what has it now, else what
had it last; a column's entries go back through its renames, and include the constraints that mention it; where the log
does not begin with the table, the oldest entry is marked as not known and has no author.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import bools, strings
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.schema.edit import similar_names
from explorer.core.protocol.sql.stored_expressions import mentions
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.settings_history import SettingChange, setting_changes, settings_table

_MOST_NAMED: Final = 5

_Subject = tuple[str, str]
"""The subject of a change: the identity of a column, or a kind and a name."""


def blame(history: Provenance, name: str | None = None) -> pa.Table:
    """Return the commits that set things to their current state.

    Args:
        name: A dotted column, a property, a constraint (with or without ``delta.constraints.``), a feature, a domain,
            or ``protocol``, ``partitioning``, ``clustering``, ``description``; None for all that there is now.

    Returns:
        As `explorer.core.versions.settings_history.settings_table`, newest first, with ``current`` (the entry describes
        the current state) and ``current_name`` (its current or last name). For a name, all its entries; for None, the
        current ones.

    Raises:
        RequestError: Nothing has, or had, that name; ``nearest`` are names that come close.
        TableError: A schema or a property cannot be read.
    """
    return blamed(history, setting_changes(history), name)


def blamed(history: Provenance, changes: Sequence[SettingChange], name: str | None = None) -> pa.Table:
    """Return the same for changes that were read already."""
    current = _current(changes)
    if name is None:
        chosen = [change for position, change in enumerate(changes) if position in current]
        flags = [True] * len(chosen)
    else:
        subjects = _subjects(changes, name)
        positions = [position for position, change in enumerate(changes) if _is_of(change, subjects)]
        chosen, flags = [changes[position] for position in positions], [position in current for position in positions]
    order = sorted(range(len(chosen)), key=lambda position: -chosen[position].version)
    table = settings_table(history, chosen)
    newest = _newest_names(changes)
    names = [newest[_subject(chosen[position])][0] for position in order]
    table = table.append_column("current", bools([flags[position] for position in order]))
    return table.append_column("current_name", strings(names))


def _subject(change: SettingChange) -> _Subject:
    return ("column", change.column) if change.column is not None else (change.kind, change.name)


def _current(changes: Sequence[SettingChange]) -> set[int]:
    """Return the positions of the entries that describe the current state: the last of each kind, of what exists."""
    last: dict[_Subject, dict[str, int]] = {}
    dropped: set[_Subject] = set()
    for position, change in enumerate(changes):
        subject = _subject(change)
        if change.kind == "column" and change.after is not None:
            # The column was added (again): entries of an earlier column of this name no longer apply.
            last.pop(subject, None)
        last.setdefault(subject, {})[change.kind] = position
        if change.kind == "column" or change.column is None:
            (dropped.add if change.after is None else dropped.discard)(subject)
    present = (positions for subject, positions in last.items() if subject not in dropped)
    return {position for positions in present for position in positions.values() if changes[position].after is not None}


def _subjects(changes: Sequence[SettingChange], name: str) -> tuple[set[_Subject], str | None]:
    """Return the subjects that a name means, and the newest path of the column among them."""
    wanted = constraint_name(name.strip()) or name.strip()
    newest = _newest_names(changes)
    for same in (str, str.casefold):
        live = {subject for subject, (called, there) in newest.items() if there and same(called) == same(wanted)}
        past = [subject for subject, (called, _) in newest.items() if same(called) == same(wanted)]
        earlier = [_subject(change) for change in changes if same(change.name) == same(wanted)]
        subjects = live or set(past[-1:]) or set(earlier[-1:])
        if subjects:
            column = next((newest[subject][0] for subject in subjects if subject[0] == "column"), None)
            return subjects, column
    raise _unknown(name, newest)


def _newest_names(changes: Iterable[SettingChange]) -> dict[_Subject, tuple[str, bool]]:
    """Return the current or last name of each subject, and whether it exists."""
    names: dict[_Subject, tuple[str, bool]] = {}
    for change in changes:
        subject = _subject(change)
        decides = change.kind == "column" or change.column is None
        there = change.after is not None if decides else names.get(subject, ("", True))[1]
        # A later one goes to the end, so that the last of a name is the newest.
        names.pop(subject, None)
        names[subject] = change.name, there
    return names


def _is_of(change: SettingChange, subjects_and_column: tuple[set[_Subject], str | None]) -> bool:
    subjects, column = subjects_and_column
    if _subject(change) in subjects:
        return True
    if column is None or change.kind != "constraint":
        return False
    return any(_mentions(text, column) for text in (change.before, change.after) if text is not None)


def _mentions(expression: str, column: str) -> bool:
    try:
        path = parse_column(column)
    except ValueError:
        return False
    return mentions(expression, path)


def _unknown(name: str, newest: dict[_Subject, tuple[str, bool]]) -> RequestError:
    names = list(dict.fromkeys(called for called, _ in newest.values()))
    near = similar_names(name.casefold(), [each.casefold() for each in names], _MOST_NAMED)
    nearest = [each for each in names if each.casefold() in near] or names[:_MOST_NAMED]
    shown = ", ".join(nearest)
    which = "The nearest that it has" if near else "Some that it has"
    return RequestError(
        f"The log names no column, property, constraint, feature or domain {name!r}. {which}: {shown}."
        if nearest
        else f"The log names no {name!r}: it contains no settings.",
        found=name,
        nearest=nearest or None,
    )
