"""Commits in words: what each did, what its time is from, and which are drawn at another time than their files'."""

from __future__ import annotations

from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.versions.commit_times import is_doubtful
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.commits.summary import CommitSummary


@dataclass(frozen=True, slots=True)
class TimeBasis:
    """What the time of a commit is from.

    Attributes:
        word: ``in-commit`` or ``file time``.
        detail: What that means.
        warning: What the commit's writer said instead, where the file has another time by an hour or more; else empty.
    """

    word: str
    detail: str
    warning: str = ""


def commit_sentence(commit: CommitSummary | None) -> str:
    """Say in a few words what a commit did to rows and files, without the operation's name.

    >>> commit_sentence(None)
    'its commit is no longer in the log'
    """
    if commit is None:
        return "its commit is no longer in the log"
    parts = [text for text in _row_words(commit) if text]
    parts = parts or [text for text in _file_words(commit) if text]
    moved = commit.rows_added or commit.rows_removed or commit.rows_masked or commit.rows_updated
    if commit.rows_rewritten and not moved:
        parts = [f"{fmt.plural(commit.rows_rewritten, 'row')} rewritten, none changed"]
    if commit.changes_form:
        parts.append(_form_words(commit))
    return ", ".join(parts) or "no change to the data"


def time_basis(commit: CommitSummary) -> TimeBasis:
    """Say what the time of a commit is from."""
    if commit.timestamp_basis == "in-commit":
        return TimeBasis("in-commit", "The time is recorded in the commit: in-commit timestamps are on.")
    detail = (
        "The time is the modification time of the commit file, because in-commit timestamps are off. Copying the "
        "table changes it. Time travel uses it."
    )
    if not is_doubtful(commit.timestamp, commit.timestamp_basis, commit.written):
        return TimeBasis("file time", detail)
    warning = f"The writer's clock recorded {fmt.moment(commit.written)}: the file was copied, or a clock was off."
    return TimeBasis("file time", detail, warning)


def redated_note(commits: Commits) -> str:
    """Say which commits are drawn at another time than that of their files, and why; empty if there are none."""
    count = int(commits.redated.sum())
    if not count:
        return ""
    of = "All commits" if count == len(commits) else f"{fmt.count(count)} of {fmt.plural(len(commits), 'commit')}"
    return (
        f"{of} are drawn at the time that their writers recorded. Their files are more than a day from it, as "
        "after a copy of the table; time travel by timestamp still uses the times of the files."
    )


def _row_words(commit: CommitSummary) -> list[str]:
    masked = commit.rows_masked
    if commit.operation == "RESTORE" and commit.rows_added and commit.rows_removed:
        # Files that came back and files that went may hold the same rows, written again in between.
        net = commit.rows_added - commit.rows_removed - (masked or 0)
        sign = "+" if net > 0 else "\u2212"
        return [f"{sign}{fmt.plural(abs(net), 'row')} net" if net else "as many rows as before"]
    added, removed = commit.rows_added or 0, commit.rows_removed or 0
    return [
        f"\u0394{fmt.plural(commit.rows_updated, 'row')} updated" if commit.rows_updated else "",
        f"+{fmt.count(added) if removed else fmt.plural(added, 'row')}" if added else "",
        f"\u2212{fmt.plural(removed, 'row')}" if removed else "",
        f"{fmt.plural(masked, 'row')} masked" if masked and masked > 0 else "",
        f"{fmt.plural(-masked, 'row')} unmasked" if masked and masked < 0 else "",
    ]


def _file_words(commit: CommitSummary) -> list[str]:
    return [
        f"+{fmt.plural(commit.files_added, 'file')}" if commit.files_added else "",
        f"\u2212{fmt.plural(commit.files_removed, 'file')}" if commit.files_removed else "",
        f"{fmt.plural(commit.files_remasked, 'file')} re-masked" if commit.files_remasked else "",
    ]


def _form_words(commit: CommitSummary) -> str:
    if commit.version == 0:
        return "table created"
    return f"{' and '.join(commit.form_changes)} changed"
