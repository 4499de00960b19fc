"""An error as a person sees it: what failed, where, the probable cause, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from explorer.core import errors
from explorer.core.log.contested import ContestedFiles
from explorer.core.protocol.table_features import is_managed
from explorer.debug import DEBUG_VARIABLE, in_words, is_of_spark
from explorer.rights import NEEDS_APPROVAL
from explorer.storage.roots import is_catalog_address
from explorer.views.advice import own_advice


@dataclass(frozen=True, slots=True)
class Problem:
    """What is shown instead of an answer.

    Attributes:
        kind: The error's class name.
        severity: ``danger`` for a broken table or a condition that cannot be used, ``warning`` for what is not possible
            here, ``info`` for a bad request.
        title: A few words.
        message: The error's own sentence.
        next_step: What the person can do: the end of the message, where it says that itself.
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

    @property
    def statement(self) -> str:
        """The message without the next step, for places that show that beside it."""
        return self.message.removesuffix(self.next_step).rstrip() or self.message


_WORDS: tuple[tuple[type[errors.ExplorerError], str, str, str], ...] = (
    (errors.VersionNotFound, "info", "No such version", "Choose a version within the range."),
    (errors.TimestampOutOfRange, "info", "No version at that time", "Choose a time within the history."),
    (errors.NotAllowed, "warning", "Not allowed here",
     "You can open only tables in the served folders, and change them only on a server with --allow-commits."),
    (errors.LimitReached, "warning", "The limit for one person",
     "When one of them has ended, try again."),
    (errors.InvalidIntent, "info", "This change is not possible",
     "Correct the field named in the message."),
    (errors.ExpressionRefused, "danger", "This condition cannot be used",
     "Use a SQL condition on the table's columns that is TRUE or FALSE for each row."),
    (errors.ChangeFeedGap, "warning", "The change feed has a gap",
     "Choose versions outside the gap, or infer the changes from the files."),
    (errors.RequestError, "info", "Invalid request",
     "Correct the value named in the message."),
    (errors.TableNotFound, "warning", "No Delta table here",
     "Check the path: a Delta table is a folder with a _delta_log folder in it."),
    (errors.VersionGap, "danger", "A commit is missing",
     "Restore the missing file from a backup. Versions after a later checkpoint, if any, can still be opened."),
    (errors.MalformedAction, "danger", "A line of the log cannot be read",
     "Check the named file and line; restore the file if it was truncated."),
    (errors.IncompleteCheckpoint, "danger", "A checkpoint cannot be read",
     "Restore the checkpoint's files, or remove the damaged checkpoint if every commit before it still exists."),
    (errors.CorruptDeletionVector, "danger", "A deletion vector cannot be read",
     "Restore the named file. Without it, the rows of that data file cannot be determined."),
    (errors.LimitExceeded, "warning", "Larger than the configured limit",
     "Other tables are not affected. See the message for how to raise the limit."),
    (errors.TableError, "danger", "The table is damaged", "Check the named file. Other tables are not affected."),
    (errors.UnsupportedFeature, "warning", "The table uses a feature that is not supported here",
     "Nothing is shown, because it could be wrong. Use a client that supports the feature."),
    (errors.CatalogError, "danger", "The catalog refused or failed",
     "See the message for the cause and the next step. Tables that are opened by their location are not affected."),
    (errors.StorageError, "danger", "Storage error",
     "Check the permissions and the connection, then try again."),
    (errors.EngineUnavailable, "warning", "Spark is not available",
     "You can still use everything that needs only the log. To read rows, install the named package and restart."),
    (errors.Cancelled, "info", "Cancelled", "No results were saved. You can start again at any time."),
    (errors.ExplorerError, "danger", "The table cannot be read",
     "See the message for the cause. Other tables are not affected."),
)  # fmt: skip


_GONE = (
    "warning",
    "A file is missing",
    "The log itself is not affected. Choose a version whose files still exist, or restore the file from a backup.",
)

LACKS_RIGHT = "right"
"""The reason of the error for a right that a person lacks."""
_NO_RIGHT = ("warning", "Not among your rights", "When you have the right, open this page again.")

_TWO_PEOPLE = ("warning", "A second person decides", "See the requests for approval in the Edit tab.")
_MANAGED = (
    "warning",
    "A catalog manages this table",
    "The table is not damaged. To check its published versions here, run delta-explorer verify.",
)


def problem_of(error: Exception, nearest: int | None = None) -> Problem:
    """Describe any error; an error that this package did not raise on purpose is called a fault of the program.

    Args:
        error: The error.
        nearest: A version that can be shown instead, where the error names none.
    """
    if is_of_spark(error):
        from explorer.spark.engine.failures import failure_of

        error = failure_of(error)
    if not isinstance(error, errors.ExplorerError):
        return Problem(
            kind=type(error).__name__,
            severity="danger",
            title="This failed unexpectedly",
            message=in_words(error),
            next_step="This is a bug in Delta Table Explorer, not a problem with the table. Start the server or the "
            "kernel with "
            f"{DEBUG_VARIABLE}=1 set, do the same again, and report the details in its log.",
        )
    severity, title, step = _words_for(error)
    facts = error.facts()
    shown = tuple(
        (name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
        for name, value in facts.items()
        if name not in {"error", "message"} and value not in (None, "", [], ())
        # The place of a table that was not found is said once.
        if name != "table" or value != facts.get("location")
    )
    named = facts.get("nearest")
    return Problem(
        kind=type(error).__name__,
        severity=severity,
        title=title,
        message=str(error),
        next_step=own_advice(str(error)) or step,
        facts=shown,
        nearest=named if isinstance(named, int) else nearest,
    )


def data_problems(contested: ContestedFiles | None, lost: str) -> tuple[Problem, ...]:
    """Describe what is wrong with the rows of a version, before they are read.

    Args:
        contested: The files of which other readers read other rows.
        lost: Why its rows can no longer be read; empty if they can, as far as is known.
    """
    problems: tuple[Problem, ...] = ()
    if contested is not None:
        title = "Readers disagree about this version"
        texts = contested.statement, contested.next_step
        problems = (Problem("CorruptTable", "danger", title, *texts, rule="contested-files"),)
    if not lost:
        return problems
    step = "Choose a version whose files still exist, or restore the files from a backup."
    return (
        *problems,
        Problem("StorageError", "warning", "The data of this version is lost", lost, step, rule="versions-gone"),
    )


def _words_for(error: errors.ExplorerError) -> tuple[str, str, str]:
    if _is_deleted(error):
        return _GONE
    if is_managed(error):
        return _MANAGED
    if isinstance(error, errors.NotAllowed) and error.reason == LACKS_RIGHT:
        return _NO_RIGHT
    if isinstance(error, errors.NotAllowed) and error.reason == NEEDS_APPROVAL:
        return _TWO_PEOPLE
    return next((severity, title, step) for kind, severity, title, step in _WORDS if isinstance(error, kind))


def lost_problem(error: errors.ExplorerError) -> Problem:
    """Describe why a table that is on show cannot be read any more."""
    problem, step = problem_of(error), "The last successful reading is still shown."
    if isinstance(error, errors.TableNotFound):
        if is_catalog_address(error.location):
            message = f"{error.location} was dropped or renamed in its catalog while it was open."
            back = "Open it by its new name, or ask the owner of the schema."
        else:
            message = "Its folder or log was deleted or moved while it was open."
            back = "Put the table back, then try again."
        return replace(problem, title="The table no longer exists", message=message, next_step=f"{step} {back}")
    return replace(problem, title=f"The table cannot be read now: {problem.title.lower()}", next_step=step)


def time_reading(text: str, reading: str) -> Problem:
    """Return how a time that a person wrote was read, and the version that it names."""
    return Problem("TimeRead", "info", f"Time \u201c{text.strip()[:60]}\u201d", f"{reading}.", "")


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
        message=f"The commit of v{version} is not the one read before: the table was deleted and "
        f"created again, restored from a copy, or its log was rewritten. v{newest} of what is there now is shown.",
        next_step="Find out who did this before you rely on earlier links and receipts.",
    )


def _is_deleted(error: errors.ExplorerError) -> bool:
    return isinstance(error, errors.StorageError) and isinstance(error.__cause__, FileNotFoundError)
