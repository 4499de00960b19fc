"""What undoes a commit: its exact inverse, else a restore of the version before it, and what that undoes besides.

Protocol section: Requirements for Writers. Invariants: an inverse undoes this commit and no other; a restore names
every later commit that it undoes, with the reason that its author gave; where nothing undoes a commit, that is said.
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import VersionNotFound
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.transaction.commit_plan import PlanDocument
from explorer.core.transaction.guards.undone_commits import UndoneCommit, undone_commits
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.undoing.inverse import Inverse, inverse
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.provenance import Provenance

_GO_ON: Final = "each of them is planned and committed by itself, in this order"


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """What undoes one commit.

    Attributes:
        version: The version that the commit wrote.
        operation, user, reason: As the log has them; None where it does not say.
        steps: The intents that undo it, to be planned in this order; none if nothing undoes it.
        exact: Whether they undo this commit and no other.
        text: What they do, in words; else why nothing undoes it.
        why: Why there is no exact inverse; empty if there is one.
        later: The later commits that are undone too, the newest first; none where it is exact.
    """

    version: int
    operation: str | None
    user: str | None
    reason: str | None
    steps: tuple[Intent, ...]
    exact: bool
    text: str
    why: str = ""
    later: tuple[UndoneCommit, ...] = ()

    def __repr__(self) -> str:
        return f"Undo(version={self.version}, exact={self.exact}, {self.text!r})"

    def record(self, table: str, plans: tuple[PlanDocument, ...] = ()) -> UndoDocument:
        """Return it as the JSON document of the command line.

        Args:
            table: The table's root as a URL.
            plans: The plans of its steps, as far as they were made.
        """
        return UndoDocument(
            table=table,
            version=self.version,
            operation=self.operation,
            user_name=self.user,
            reason=self.reason,
            exact=self.exact,
            text=self.text,
            why=self.why,
            steps=tuple(intent_document(step) for step in self.steps),
            later=self.later,
            plans=plans,
        )


class UndoDocument(JsonRecord, frozen=True, kw_only=True):
    """What undoes a commit, as JSON.

    Attributes:
        operation, user_name, reason: As the log has them; null where it does not say.
        exact: Whether the steps undo this commit and no other.
        text: What they do, in words; else why nothing undoes it.
        why: Why there is no exact inverse; empty if there is one.
        steps: Intents, to be planned in this order; none if nothing undoes the commit.
        later: The later commits that are undone too, the newest first.
        plans: The plan of the first step; once committed, those of all steps, with their outcomes.
    """

    table: str
    version: int
    operation: str | None
    user_name: str | None
    reason: str | None
    exact: bool
    text: str
    why: str
    steps: tuple[JsonObject, ...]
    later: tuple[UndoneCommit, ...]
    plans: tuple[PlanDocument, ...]


class _Commit(msgspec.Struct, frozen=True):
    """What a commit did to files: whether rows changed, and whether files did."""

    rows: bool
    files: bool


def undo_of(log: DeltaLog, version: int | None = None) -> Undo:
    """Return what undoes a commit; nothing is planned yet.

    Args:
        version: The version that it wrote; None for the newest.

    Raises:
        VersionNotFound: The table has no such version, or the commit's file is deleted.
        TableError: The log is broken.
    """
    record = log.provenance_record()
    wanted = record.latest if version is None else version
    files = _files_of(log, wanted)
    entry = next((each for each in record.commits if each.version == wanted), None)
    info = None if entry is None else entry.info
    own = UndoneCommit.of(wanted, info)
    base = Undo(
        version=wanted, operation=own.operation, user=own.user, reason=own.reason, steps=(), exact=True, text=""
    )
    if wanted == 0:
        text = "It created the table. Only deleting the table's folder undoes that."
        return msgspec.structs.replace(base, text=text)
    if wanted - 1 < record.first_readable:
        text = f"Version {wanted - 1}, before this commit, can no longer be rebuilt from the log."
        return msgspec.structs.replace(base, text=text)
    if files.rows:
        return _restored(record, base, _why_rows(own))
    back = inverse(record, wanted)
    if back.refused:
        return _restored(record, base, " ".join(back.refused))
    if back.steps:
        return msgspec.structs.replace(base, steps=back.steps, text=_in_words(back))
    if _changes_form(record, wanted):
        return msgspec.structs.replace(base, text="The table is as it was before this commit already.")
    if files.files:
        return _restored(record, base, "It changed no row: it only arranged rows in other files, or described them.")
    text = "It changed neither rows nor properties, so there is nothing to undo."
    return msgspec.structs.replace(base, text=text)


def _files_of(log: DeltaLog, version: int) -> _Commit:
    commit = next(iter(log.commits(version, version)), None)
    if commit is None:
        latest = log.latest_version()
        raise VersionNotFound(
            f"The commit of version {version} is not in the log, so its undo cannot be determined. Choose a "
            f"commit that the history lists; the newest is {latest}.",
            version=version,
            latest=latest,
        )
    actions = [action for line in commit.lines for action in (line.add, line.remove) if action is not None]
    return _Commit(any(action.data_change for action in actions), bool(actions))


def _why_rows(own: UndoneCommit) -> str:
    return f"{own.operation or 'The commit'} changed rows, and only their earlier files bring them back."


def _changes_form(record: Provenance, version: int) -> bool:
    """Return whether a commit changed the metadata or the protocol."""
    was, then = version - 1, version
    return (record.metadata_at(was), record.protocol_at(was)) != (record.metadata_at(then), record.protocol_at(then))


def _restored(record: Provenance, base: Undo, why: str) -> Undo:
    """Return the restore of the version before, with the later commits that it undoes too."""
    before = base.version - 1
    later = undone_commits(record, base.version, record.latest)
    text = f"Restore version {before}."
    if later:
        text = f"{text} That undoes {counted(len(later), 'later commit', 'later commits')} too."
    return msgspec.structs.replace(
        base, steps=(intents.Restore(version=before),), exact=not later, text=text, why=why, later=later
    )


def _in_words(back: Inverse) -> str:
    texts = [_step(step) for step in back.steps]
    text = "; ".join([texts[0], *(f"{each[0].lower()}{each[1:]}" for each in texts[1:])])
    return f"{text}. No other commit is undone." if len(texts) == 1 else f"{text}: {_GO_ON}."


def _step(step: Intent) -> str:
    """Return a step in words."""
    match step:
        case intents.DropConstraint(name=name):
            return f"Drop the constraint {name}"
        case intents.AddConstraint(name=name, expression=expression):
            return f"Add the constraint {name} again: {expression}"
        case intents.SetProperties(properties=properties):
            return "Set " + ", ".join(f"{key} to {value!r}" for key, value in properties.items()) + " again"
        case intents.UnsetProperties(keys=keys):
            return f"Unset {', '.join(keys)}"
        case intents.SetColumnMapping(mode=mode):
            return f"Set column mapping to {mode} again"
        case intents.SetDescription(description=description):
            return "Set the description back" if description else "Remove the description"
        case intents.DropFeature(feature=feature):
            return f"Drop the feature {feature}"
        case intents.EnableFeature(feature=feature):
            return f"Enable the feature {feature} again"
        case _:
            return _other_step(step)


def _other_step(step: Intent) -> str:
    """Return a step on columns or domains in words."""
    match step:
        case intents.RenameColumn(column=column, to=to):
            return f"Rename {column} to {to} again"
        case intents.DropColumns(columns=columns):
            return f"Drop {', '.join(columns)}"
        case intents.MoveColumn(column=column):
            return f"Move {column} back"
        case intents.SetNotNull(column=column):
            return f"Require values in {column} again"
        case intents.DropNotNull(column=column):
            return f"Allow nulls in {column} again"
        case intents.SetColumnComment(column=column, comment=comment):
            return f"Remove the comment of {column}" if comment is None else f"Set the comment of {column} back"
        case intents.SetDomain(domain=domain):
            return f"Set the domain {domain} back"
        case intents.RemoveDomain(domain=domain):
            return f"Remove the domain {domain}"
        case _:
            return str(intent_document(step)["kind"]).replace("-", " ").capitalize()
