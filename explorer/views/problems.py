"""An error as a person sees it: what failed, where, the probable cause, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from explorer.core import errors
from explorer.core.log.contested import ContestedFiles
from explorer.core.protocol.table_features import is_managed
from explorer.debug import DEBUG_VARIABLE, in_words

__all__ = ["Problem", "data_problems", "lost_problem", "problem_of", "replaced_problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is shown instead of an answer.

    Attributes:
        kind: The error's class name.
        severity: ``danger`` for a broken table or a condition that cannot be used, ``warning`` for what is not possible
            here, ``info`` for a bad request.
        title: A few words.
        message: The error's own sentence.
        next_step: What the person can do.
        facts: Names and values that the error carries, as text.
        nearest: A version that can be shown instead, if there is one.
        rule: The rule of the audit that finds the same; empty if none does.
    """

    kind: str
    severity: str
    title: str
    message: str
    next_step: str
    facts: tuple[tuple[str, str], ...] = ()
    nearest: int | None = None
    rule: str = ""


_WORDS: tuple[tuple[type[errors.ExplorerError], str, str, str], ...] = (
    (errors.VersionNotFound, "info", "No such version", "Choose a version within the range."),
    (errors.TimestampOutOfRange, "info", "No version at that time", "Choose a time within the history."),
    (errors.NotAllowed, "warning", "Not allowed here",
     "Only tables under the given roots are shown, and changed only where commits were allowed at the start."),
    (errors.InvalidIntent, "info", "This change is not possible here",
     "Correct the answer that the message names."),
    (errors.ExpressionRefused, "danger", "This condition cannot be used",
     "Correct the condition: SQL over the columns of the table that is TRUE or FALSE for a row."),
    (errors.ChangeFeedGap, "warning", "The change feed has a hole",
     "Choose versions outside the hole, or have changes inferred from the files."),
    (errors.RequestError, "info", "This request cannot be answered",
     "Correct what the message names, or choose again."),
    (errors.TableNotFound, "warning", "No Delta table here",
     "Check the path: a Delta table is a folder with a _delta_log folder in it."),
    (errors.VersionGap, "danger", "A commit is missing",
     "Restore the missing file from a backup. Versions after a later checkpoint, if any, can still be opened."),
    (errors.MalformedAction, "danger", "A line of the log cannot be read",
     "Check the named file and line; restore the file if it was truncated."),
    (errors.IncompleteCheckpoint, "danger", "A checkpoint cannot be read",
     "Restore the checkpoint's files, or remove the broken checkpoint if every commit before it still exists."),
    (errors.CorruptDeletionVector, "danger", "A deletion vector cannot be read",
     "Restore the named file. Without it the rows of that data file are not known."),
    (errors.LimitExceeded, "warning", "Too large for this program as it is set",
     "Nothing is wrong with the other tables. The message names what is too large, and the way past the limit."),
    (errors.TableError, "danger", "The table is broken", "Check the named file. The other tables are not affected."),
    (errors.UnsupportedFeature, "warning", "The table uses a feature that is not supported here",
     "Nothing is shown, as it might be wrong. Read the table with a client that supports the feature."),
    (errors.StorageError, "danger", "The storage did not answer",
     "Check the permissions and the connection, then try again."),
    (errors.EngineUnavailable, "warning", "Spark is not available",
     "Everything that the log answers works without it. For rows, install what is named and start again."),
    (errors.Cancelled, "info", "Cancelled", "Nothing was kept. Start again at any time."),
    (errors.ExplorerError, "danger", "The table could not be read",
     "The message says why. The other tables are not affected."),
)  # fmt: skip


_GONE = (
    "warning",
    "A file is missing",
    "The log itself is not affected. Choose a version whose files still exist, or restore the file from a backup.",
)

_MANAGED = (
    "warning",
    "A catalog manages this table",
    "Nothing is wrong with the table. The command delta-explorer verify checks here what is published.",
)


def problem_of(error: Exception, nearest: int | None = None) -> Problem:
    """Describe any error; an error that this package did not raise on purpose is called a fault of the program.

    Args:
        error: The error.
        nearest: A version that can be shown instead, where the error names none.
    """
    if not isinstance(error, errors.ExplorerError):
        return Problem(
            kind=type(error).__name__,
            severity="danger",
            title="This failed unexpectedly",
            message=in_words(error),
            next_step="This is a fault of the program, not of the table. Start the server or the kernel with "
            f"{DEBUG_VARIABLE}=1 set, do the same again, and report what its log says.",
        )
    severity, title, step = _words_for(error)
    facts = error.facts()
    shown = tuple(
        (name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
        for name, value in facts.items()
        if name not in {"error", "message"} and value not in (None, "", [], ())
    )
    named = facts.get("nearest")
    return Problem(
        kind=type(error).__name__,
        severity=severity,
        title=title,
        message=str(error),
        next_step=step,
        facts=shown,
        nearest=named if isinstance(named, int) else nearest,
    )


def data_problems(contested: ContestedFiles | None, lost: str) -> tuple[Problem, ...]:
    """Describe what is wrong with the rows of a version, before they are read.

    Args:
        contested: The files of which other readers read other rows.
        lost: Why its rows can no longer be read; empty if they can, as far as is known.
    """
    found: tuple[Problem, ...] = ()
    if contested is not None:
        title = "Readers disagree about this version"
        said = contested.statement, contested.next_step
        found = (Problem("CorruptTable", "danger", title, *said, rule="contested-files"),)
    if not lost:
        return found
    step = "Choose a version whose files still exist, or restore the files from a backup."
    return (
        *found,
        Problem("StorageError", "warning", "The data of this version is lost", lost, step, rule="versions-gone"),
    )


def _words_for(error: errors.ExplorerError) -> tuple[str, str, str]:
    if _is_gone(error):
        return _GONE
    if is_managed(error):
        return _MANAGED
    return next((severity, title, step) for kind, severity, title, step in _WORDS if isinstance(error, kind))


def lost_problem(error: errors.ExplorerError) -> Problem:
    """Describe why a table that is on show cannot be read any more."""
    found, step = problem_of(error), "What was read before is still shown."
    if isinstance(error, errors.TableNotFound):
        message = "Its folder or its log was deleted or moved while it was on show."
        return replace(
            found, title="The table is gone", message=message, next_step=f"{step} Put the table back, then try again."
        )
    return replace(found, title=f"The table cannot be read now: {found.title.lower()}", next_step=step)


def replaced_problem(version: int, newest: int) -> Problem:
    """Describe that the log of a table on show was written again.

    Args:
        version: The newest version that had been read.
        newest: The newest version of the log that is there now.
    """
    return Problem(
        kind="TableReplaced",
        severity="warning",
        title="The table was replaced",
        message=f"The commit of v{version} is not the one that was read before: someone deleted the table and made it "
        f"again, brought it back from a copy, or wrote its log again. v{newest} of what is there now is shown.",
        next_step="Ask who did it before you rely on earlier links and receipts.",
    )


def _is_gone(error: errors.ExplorerError) -> bool:
    return isinstance(error, errors.StorageError) and isinstance(error.__cause__, FileNotFoundError)
