"""The log against itself: contradictory actions, checksums, checkpoints, and a chain head saved earlier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy, Severity
from explorer.auditing.log_shortcuts import (
    is_repairable,
    newest_checkpoint_problems,
    newest_checksum_problems,
    newest_compaction_problems,
    unusual_checkpoint_types,
)
from explorer.auditing.rule import NotAnswered, Rule, see, table_command, verify_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, named, runs, spans
from explorer.core.log.contested import ContestedFiles
from explorer.core.log.verify.hash_chain import links
from explorer.core.log.verify.problem import LogProblem
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.transaction.intents.records import Checkpoint, Restore, Update

# A writer that drops deletion vectors removes their files as if they were data files, so that VACUUM takes them.
_VECTOR_FILE: Final = re.compile(r"(\A|/)deletion_vector_[^/]*\.bin\Z")
_WORSE: Final = frozenset({"added and removed"})
_OF_CHECKPOINTS: Final = frozenset(
    {"checkpoint-differs", "unreadable-checkpoint", "damaged-checkpoint", "checkpoint-short"}
)
_UNVERIFIED: Final = "The log was not checked against its checksums and checkpoints. Repeat the audit with this check."
_MOST_DETAILS: Final = 4
# Every reader passes over these.
_HARMLESS: Final = frozenset(
    {"stale-hint", "unusable-hint", "stray-compaction", "orphan-file", "incomplete-checkpoint"}
)
# Some clients refuse the table because of these, or take other rows or row ids; the others only record them.
_MISLEADING: Final = frozenset(
    {"impossible-number", "unknown-action", "missing-member", "checkpoint-types", "unusual-name"}
)
# The others, in words.
FAULTS: Final = {
    "two-names": "two commits of one version",
    "invalid-metadata": "metadata that readers must reject",
    "invalid-protocol": "a protocol that contradicts itself",
    "duplicate-action": "two actions with the same key in one commit",
    "contradictory-action": "actions of one commit that contradict each other",
    "unremoved-vector": "a deletion vector replaced without a removal",
    "misplaced-action": "an action that is only allowed in checkpoints",
    "clock-went-back": "a clock that moved backward",
    "no-in-commit-timestamp": "a commit without a timestamp",
    "incomplete-checkpoint": "a checkpoint with missing files",
    "unusable-hint": "an unusable hint of the newest checkpoint",
    "stale-hint": "a hint of a checkpoint that is not the newest",
    "stray-compaction": "a compaction of commits that do not exist",
    "orphan-file": "a temporary file that was left behind",
    "unusual-name": "a file whose name some clients skip",
    "impossible-number": "an impossible number for its commit",
    "hint-differs": "a hint whose numbers differ from its checkpoint",
    "empty-commit": "a commit of zero bytes",
    "spread-action": "an action over several lines, which delta-spark cannot read",
    "unknown-action": "a line that is not an action of the protocol",
    "missing-member": "an action without a required field",
    "checkpoint-types": "a checkpoint with column types that the protocol does not allow",
}
# What other rules find.
OTHER_RULES: Final = frozenset(
    {
        *("gap", "truncated-log", "unreadable-commit", "no-metadata", "no-protocol", "former-property"),
        *("lost-version", "invalid-file-values", "empty-partition-value"),
        *("checkpoint-differs", "unreadable-checkpoint", "damaged-checkpoint", "checkpoint-short"),
        "compaction-differs",
        *("checksum-differs", "unreadable-checksum", "commit-short", "metrics-differ"),
    }
)


def _contradictions(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    stated = subject.contradictions
    if stated is None:
        return NotAnswered("the log is being read again for it")
    conflicts = [each for each in stated if not _VECTOR_FILE.search(each[2])]
    if not conflicts:
        return ()
    worst = [each for each in conflicts if each[1] in _WORSE] or conflicts
    version, kind, _ = worst[0]
    versions = sorted({each[0] for each in conflicts})
    others = len(versions) - 1
    return (
        Finding(
            rule="contradictory-actions",
            severity="error" if kind in _WORSE else "warning",
            label=f"contradiction, v{version}",
            title=f"v{version} says of {fmt.plural(len({each[2] for each in worst if each[0] == version}), 'file')}: "
            f"{kind}",
            evidence=(
                commit_evidence(subject, version),
                Evidence(named([each[2] for each in worst if each[0] == version])),
                *((Evidence(f"{fmt.plural(others, 'other commit')} with the same problem"),) if others else ()),
            ),
            effect="The protocol does not define which of the two applies, so readers may return different results."
            if kind in _WORSE
            else "The writing client has a wrong view of the table, and other clients may read different rows.",
            remedy=Remedy(
                "Verify the log, and update the client that wrote the commit", command=verify_command(subject)
            ),
            versions=runs(np.array(versions)),
            files=len({each[2] for each in conflicts}),
        ),
    )


def _contested(subject: Subject) -> tuple[Finding, ...]:
    """Report live files that other readers read differently, with other rows or other values."""
    contested = subject.snapshot.contested
    if contested is None:
        return ()
    if contested.column:
        return (_empty_strings(subject, contested),)
    paths = set(contested.paths)
    key = "path as it is spelled" if contested.respelled else "path and deletion vector"
    seen = see(subject, "See the masked rows", Place("masked rows", subject.version))
    if contested.respelled:
        seen = see(subject, "See the files", Place("files", subject.version))
    first = min((version for version, _, path in subject.contradictions or () if path in paths), default=None)
    back = None if first is None or first <= subject.history.first_readable else first - 1
    return (
        Finding(
            rule="contested-files",
            severity="error",
            label=f"{fmt.plural(len(paths), 'file')} read differently",
            title=f"Readers disagree about {fmt.plural(len(paths), 'live file')}: "
            f"{fmt.quantity(contested.rows, 'row')} here, {fmt.count(contested.other_rows)} by {key}",
            evidence=(
                Evidence(named(list(contested.paths)), Place("files", subject.version)),
                *((Evidence("the first contradiction", Place("commit", first)),) if first is not None else ()),
            ),
            effect=contested.message,
            remedy=seen if back is None else Remedy(f"Restore v{back}\u2026", intent=Restore(version=back)),
            versions=((subject.version, subject.version),),
            files=len(paths),
        ),
    )


def _empty_strings(subject: Subject, contested: ContestedFiles) -> Finding:
    """Report files with an empty string as a partition value, which only some readers take for NULL."""
    column = format_column((contested.column,))
    return Finding(
        rule="contested-files",
        severity="error",
        label=f"{fmt.plural(len(contested.paths), 'file')} read differently",
        title=f"Readers disagree about {named([contested.column])} in {fmt.plural(len(contested.paths), 'live file')}: "
        f"NULL in {fmt.quantity(contested.rows, 'row')} here, in {fmt.count(contested.other_rows)} by delta-spark",
        evidence=(Evidence(named(list(contested.paths)), Place("files", subject.version)),),
        effect=contested.message,
        remedy=Remedy("Write NULL instead\u2026", intent=Update(where=f"{column} IS NULL", set={column: "NULL"})),
        versions=((subject.version, subject.version),),
        files=len(contested.paths),
    )


def _checkpoints(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.inputs.integrity
    doubted = newest_checkpoint_problems(subject) if report is None else ()
    if report is None and not doubted:
        return NotAnswered(_UNVERIFIED)
    problems = doubted if report is None else [each for each in report.problems if each.kind in _OF_CHECKPOINTS]
    if not problems:
        return ()
    return _differing(
        problems,
        ("checkpoint", "error", "does not match the commits"),
        "Readers start from the newest checkpoint, so they fail or return different results than readers of "
        "the commits.",
        _checkpoint_step(subject),
    )


def _checkpoint_step(subject: Subject) -> Remedy:
    """Return the next step for an incorrect checkpoint: rewrite it if the commits give its version."""
    if is_repairable(subject):
        return Remedy("Rewrite the checkpoint\u2026", intent=Checkpoint())
    return Remedy("Restore the log files from a backup", command=verify_command(subject))


def _compactions(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.inputs.integrity
    problems = newest_compaction_problems(subject) if report is None else report.problems
    if problems is None:
        return NotAnswered(_UNVERIFIED)
    return _differing(
        [each for each in problems if each.kind == "compaction-differs"],
        ("compaction", "error", "does not match the commits"),
        "A reader that uses the compaction instead of its commits, as delta-spark does, can return wrong rows "
        "without an error. The commits are complete: remove the compaction from the log’s folder.",
        Remedy("Verify the log", command=verify_command(subject)),
    )


def _checksums(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.inputs.integrity
    problems = newest_checksum_problems(subject) if report is None else report.problems
    wrong = [each for each in problems if each.kind in ("checksum-differs", "unreadable-checksum")]
    if report is None and not wrong:
        return NotAnswered(_UNVERIFIED)
    newest = [each.detail for each in wrong if each.version == subject.version]
    refused = any(each.startswith(("metadata ", "protocol ")) for each in newest)
    return _differing(
        wrong,
        ("checksum", "error" if refused else "warning", "disagrees with the commits"),
        "delta-spark refuses the table, and clients built on delta-kernel read it by the schema of the checksum."
        if refused
        else "A client that relies on it opens the table with wrong numbers, or refuses it.",
        Remedy("Verify the log", command=verify_command(subject)),
    )


def _metrics(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report commits whose operation metrics differ from their actions; missing actions are an error."""
    report = subject.inputs.integrity
    if report is None:
        return NotAnswered(_UNVERIFIED)
    short = [each for each in report.problems if each.kind == "commit-short"]
    problems = short or [each for each in report.problems if each.kind == "metrics-differ"]
    if not problems:
        return ()
    versions = _versions(problems)
    of_first = see(subject, "See what the commit did", Place("commit", versions[0][0]))
    return (
        Finding(
            rule="metrics-differ",
            severity="error" if short else "warning",
            label="metrics differ",
            title=f"{fmt.plural(len({each.version for each in problems}), 'commit')} "
            + ("did less than its writer recorded" if short else "does not match its operation metrics"),
            evidence=_details(problems),
            effect="Rows or deletions that the writer counted are not in the log: they may be lost. Compare the rows "
            "with their source, and write again what is missing."
            if short
            else "Readers do not use these numbers, but history pages of other clients show them.",
            remedy=of_first,
            versions=versions,
        ),
    )


def _form(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report the problems of verification that no other rule reports."""
    report = subject.inputs.integrity
    unasked = unusual_checkpoint_types(subject) if report is None else ()
    if report is None and not unasked:
        return NotAnswered(_UNVERIFIED)
    known = {(each[0], kind) for each in subject.contradictions or () for kind in _similar_kinds(each[1])}
    problems = [
        each
        for each in (unasked if report is None else report.problems)
        if each.kind not in OTHER_RULES and (each.version, each.kind) not in known
    ]
    if not problems:
        return ()
    problems.sort(key=lambda each: each.kind not in _MISLEADING)
    kinds = list(dict.fromkeys(each.kind for each in problems))
    misleads = kinds[0] in _MISLEADING
    return (
        Finding(
            rule="log-faults",
            severity="error" if misleads else "info" if _HARMLESS.issuperset(kinds) else "warning",
            label=fmt.plural(len(problems), "problem of the log", "problems of the log"),
            title=f"The log does not follow the protocol: {', '.join(FAULTS[kind] for kind in kinds)}",
            evidence=_details(problems),
            effect="Some clients refuse the table because of it, or miss files or row IDs. See the details."
            if misleads
            else "No known reader returns wrong results because of it, but its writer may do it again.",
            remedy=Remedy("Verify the log", command=verify_command(subject)),
            versions=_versions(problems),
        ),
    )


def _similar_kinds(kind: str) -> tuple[str, ...]:
    return ("contradictory-action",) if kind == "added and removed" else ("duplicate-action", "unremoved-vector")


def _differing(
    problems: Sequence[LogProblem], words: tuple[str, Severity, str], effect: str, remedy: Remedy
) -> tuple[Finding, ...]:
    if not problems:
        return ()
    what, severity, claim = words
    files = {each.file for each in problems}
    return (
        Finding(
            rule=f"{what}-differs",
            severity=severity,
            label=f"{what} differs",
            title=f"{fmt.plural(len(files), what)} {claim if len(files) == 1 else claim.replace('does', 'do', 1)}",
            evidence=_details(problems),
            effect=effect,
            remedy=remedy,
            versions=_versions(problems),
            files=len(files),
        ),
    )


def _details(problems: Sequence[LogProblem]) -> tuple[Evidence, ...]:
    shown = tuple(
        Evidence(
            fmt.shorten(fmt.plain(_detail(each), 400), 300),
            None if each.version is None else Place("commit", each.version),
        )
        for each in problems[:_MOST_DETAILS]
    )
    more = len(problems) - _MOST_DETAILS
    return (*shown, Evidence(f"{more:,} more")) if more > 0 else shown


def _detail(problem: LogProblem) -> str:
    """Return what is wrong with a file, which is named once."""
    return problem.detail if problem.file in problem.detail else f"{problem.file}: {problem.detail}"


def _versions(problems: Sequence[LogProblem]) -> tuple[tuple[int, int], ...]:
    return runs(np.array(sorted({each.version for each in problems if each.version is not None}), np.int64))


def _tampered(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report whether a saved chain head is not that of any version, so that the log was changed."""
    saved = subject.inputs.chain_head
    if saved is None:
        return NotAnswered("There is no earlier chain head to compare with. Use the one printed by verify.")
    matches = [version for version, head in links(subject.log.store, subject.listing.commits) if head == saved.lower()]
    if matches:
        return ()
    first = min(subject.listing.commits, default=0)
    complete = first == 0
    return (
        Finding(
            rule="tampered-log",
            severity="error" if complete else "warning",
            label="the log was changed" if complete else "chain head not found",
            title="The log changed since the chain head was saved"
            if complete
            else "The saved chain head is not of a version that the log can still verify",
            evidence=(
                Evidence(f"saved: {fmt.shorten(fmt.plain(saved, 100), 64)}"),
                Evidence(f"the chain was made over {spans(runs(np.array(list(subject.listing.commits), np.int64)))}"),
            ),
            effect="A commit was changed, removed, or added since, or the chain head is of another table."
            if complete
            else f"Commits before v{first} are deleted: either they were cleaned up after the head was saved, or the "
            "log was changed. Save a new head after each log cleanup.",
            remedy=Remedy(
                "List the commits, and compare them with a copy of the log" if complete else "Save the new chain head",
                command=table_command(subject, "history") if complete else verify_command(subject),
            ),
        ),
    )


INTEGRITY_RULES: Final = (
    Rule(
        "contested-files",
        "error",
        "files that readers disagree about",
        "The same table has different rows in another client, without an error.",
        _contested,
    ),
    Rule(
        "contradictory-actions",
        "error",
        "actions that contradict each other",
        "Readers may interpret such a commit differently.",
        _contradictions,
    ),
    Rule(
        "checkpoint-differs",
        "error",
        "checkpoints against replay",
        "Readers start from a checkpoint and rely on it.",
        _checkpoints,
    ),
    Rule(
        "compaction-differs",
        "error",
        "log compactions against their commits",
        "Some readers use a compaction instead of its commits.",
        _compactions,
    ),
    Rule(
        "tampered-log",
        "error",
        "the log against a saved chain head",
        "Only a chain head saved elsewhere shows that history was not rewritten.",
        _tampered,
    ),
    Rule(
        "metrics-differ",
        "error",
        "operation metrics against the actions of their commit",
        "A commit with missing actions is like any other.",
        _metrics,
    ),
    Rule("checksum-differs", "warning", "checksums against replay", "Clients verify tables with them.", _checksums),
    Rule("log-faults", "error", "other problems of the log\u2019s form", "Other clients may fail on them.", _form),
)
