"""Since when one thing of a table (a column, a property, a constraint, a feature) is as it is, by whom and why.

Protocol sections: Change Metadata, Commit Provenance Information. Invariants: a name means what has it now, else what
had it last; a column's entries go back through its renames, and include the constraints that mention it; where the log
does not begin with the table, the oldest entry says so and names nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import bools, strings
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.schema.named_columns import similar_names
from explorer.core.protocol.sql.stored_expressions import mentions
from explorer.core.protocol.table_properties.values import constraint_name
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.settings_history import SettingChange, setting_changes, settings_table

__all__ = ["blame", "blamed"]

_MOST_NAMED: Final = 5

_Subject = tuple[str, str]
"""What changes are of: the identity of a column, or a kind and a name."""


def blame(history: Provenance, name: str | None = None) -> pa.Table:
    """Say since when things are as they are.

    Args:
        history: The recorded commits.
        name: A dotted column, a property, a constraint (with or without ``delta.constraints.``), a feature, a domain,
            or ``protocol``, ``partitioning``, ``clustering``, ``description``; None for all that there is now.

    Returns:
        As `explorer.core.versions.settings_history.settings_table`, newest first, with ``current``: the entry says how
        it is now; and ``current_name``: what it is called now, or was called last. For a name, all its entries; for
        None, those that are current.

    Raises:
        RequestError: Nothing has, or had, that name; ``nearest`` are names that come close.
        TableError: A schema or a property cannot be read.
    """
    return blamed(history, setting_changes(history), name)


def blamed(history: Provenance, changes: Sequence[SettingChange], name: str | None = None) -> pa.Table:
    """The same of changes that were found already."""
    current = _current(changes)
    if name is None:
        chosen = [change for place, change in enumerate(changes) if place in current]
        flags = [True] * len(chosen)
    else:
        found = _subjects(changes, name)
        places = [place for place, change in enumerate(changes) if _is_of(change, found)]
        chosen, flags = [changes[place] for place in places], [place in current for place in places]
    order = sorted(range(len(chosen)), key=lambda place: -chosen[place].version)
    table = settings_table(history, chosen)
    newest = _newest_names(changes)
    names = [newest[_subject(chosen[place])][0] for place in order]
    table = table.append_column("current", bools([flags[place] for place in order]))
    return table.append_column("current_name", strings(names))


def _subject(change: SettingChange) -> _Subject:
    return ("column", change.column) if change.column is not None else (change.kind, change.name)


def _current(changes: Sequence[SettingChange]) -> set[int]:
    """Places of the entries that say how things are now: the last of each kind, of what is there."""
    last: dict[_Subject, dict[str, int]] = {}
    gone: set[_Subject] = set()
    for place, change in enumerate(changes):
        subject = _subject(change)
        if change.kind == "column" and change.after is not None:
            # It came (again): what was said of an earlier column in its place is no more.
            last.pop(subject, None)
        last.setdefault(subject, {})[change.kind] = place
        if change.kind == "column" or change.column is None:
            (gone.add if change.after is None else gone.discard)(subject)
    present = (places for subject, places in last.items() if subject not in gone)
    return {place for places in present for place in places.values() if changes[place].after is not None}


def _subjects(changes: Sequence[SettingChange], name: str) -> tuple[set[_Subject], str | None]:
    """What a name means, and the column among it as its newest path."""
    wanted = constraint_name(name.strip()) or name.strip()
    newest = _newest_names(changes)
    for same in (str, str.casefold):
        live = {subject for subject, (called, there) in newest.items() if there and same(called) == same(wanted)}
        past = [subject for subject, (called, _) in newest.items() if same(called) == same(wanted)]
        earlier = [_subject(change) for change in changes if same(change.name) == same(wanted)]
        found = live or set(past[-1:]) or set(earlier[-1:])
        if found:
            column = next((newest[subject][0] for subject in found if subject[0] == "column"), None)
            return found, column
    raise _unknown(name, newest)


def _newest_names(changes: Iterable[SettingChange]) -> dict[_Subject, tuple[str, bool]]:
    """What each thing is, or was last, called, and whether it is there."""
    found: dict[_Subject, tuple[str, bool]] = {}
    for change in changes:
        subject = _subject(change)
        decides = change.kind == "column" or change.column is None
        there = change.after is not None if decides else found.get(subject, ("", True))[1]
        # A later one goes to the end, so that the last of a name is the newest.
        found.pop(subject, None)
        found[subject] = change.name, there
    return found


def _is_of(change: SettingChange, found: tuple[set[_Subject], str | None]) -> bool:
    subjects, column = found
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
        else f"The log names no {name!r}: it holds no setting.",
        found=name,
        nearest=nearest or None,
    )
