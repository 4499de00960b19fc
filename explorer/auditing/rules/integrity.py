"""The log against itself: contradictory actions, checksums, checkpoints, and a chain head saved earlier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy, Severity
from explorer.auditing.newest_checkpoint import is_repairable, newest_checkpoint_problems, unusual_checkpoint_types
from explorer.auditing.newest_compactions import newest_compaction_problems
from explorer.auditing.rule import NotAnswered, Rule
from explorer.auditing.steps import see, table_command, verify_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, named, runs, spans
from explorer.core.log.contested import ContestedFiles
from explorer.core.log.verify.hash_chain import links
from explorer.core.log.verify.problem import Problem
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.transaction.intents.records import Checkpoint, Restore, Update

__all__ = ["ELSEWHERE", "FAULTS", "INTEGRITY_RULES"]

# A writer that drops deletion vectors removes their files as if they were data files, so that VACUUM takes them.
_VECTOR_FILE: Final = re.compile(r"(\A|/)deletion_vector_[^/]*\.bin\Z")
_WORSE: Final = frozenset({"added and removed"})
_OF_CHECKPOINTS: Final = frozenset(
    {"checkpoint-differs", "unreadable-checkpoint", "damaged-checkpoint", "checkpoint-short"}
)
_UNVERIFIED: Final = "The log was not replayed against its checksums and checkpoints: ask for it."
_MOST_DETAILS: Final = 4
# Every reader passes over these.
_HARMLESS: Final = frozenset(
    {"stale-hint", "unusable-hint", "stray-compaction", "orphan-file", "incomplete-checkpoint"}
)
# Some clients refuse the table because of these, or take other rows or row ids; the others only record them.
_MISLEADING: Final = frozenset({"impossible-number", "unknown-action", "missing-member", "checkpoint-types"})
# The others, in words.
FAULTS: Final = {
    "two-names": "two commits of one version",
    "invalid-metadata": "metadata that no reader may take",
    "invalid-protocol": "a protocol that contradicts itself",
    "duplicate-action": "two actions for the same thing in one commit",
    "contradictory-action": "actions of one commit that contradict each other",
    "unremoved-vector": "a deletion vector replaced without a removal",
    "misplaced-action": "an action that belongs only in checkpoints",
    "clock-went-back": "a clock that went back",
    "no-in-commit-timestamp": "a commit without its time",
    "incomplete-checkpoint": "a checkpoint that lacks files",
    "unusable-hint": "a hint at the newest checkpoint that cannot be used",
    "stale-hint": "a hint at a checkpoint that is not the newest",
    "stray-compaction": "a compaction of commits that do not exist",
    "orphan-file": "a temporary file that was left behind",
    "impossible-number": "a number that its commit cannot have",
    "hint-differs": "a hint with other numbers than its checkpoint",
    "empty-commit": "a commit of zero bytes",
    "spread-action": "an action over several lines, which delta-spark cannot read",
    "unknown-action": "a line that is not one action of the protocol",
    "missing-member": "an action without a member that the protocol requires",
    "checkpoint-types": "a checkpoint with columns of other types than the protocol\u2019s",
}
# What other rules find.
ELSEWHERE: Final = frozenset(
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
    found = [each for each in stated if not _VECTOR_FILE.search(each[2])]
    if not found:
        return ()
    worst = [each for each in found if each[1] in _WORSE] or found
    version, kind, _ = worst[0]
    versions = sorted({each[0] for each in found})
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
                *((Evidence(f"{fmt.plural(others, 'other commit')} with the like"),) if others else ()),
            ),
            effect="The protocol does not say which of the two counts, so readers may answer differently."
            if kind in _WORSE
            else "The client that wrote it does not know what the table holds, and other clients may read other rows.",
            remedy=Remedy(
                "Verify the log, and update the client that wrote the commit", command=verify_command(subject)
            ),
            versions=runs(np.array(versions)),
            files=len({each[2] for each in found}),
        ),
    )


def _contested(subject: Subject) -> tuple[Finding, ...]:
    """Files of which other readers read other rows, or other values."""
    found = subject.snapshot.contested
    if found is None:
        return ()
    if found.column:
        return (_empty_strings(subject, found),)
    paths = set(found.paths)
    key = "path as it is spelled" if found.respelled else "path and deletion vector"
    seen = see(subject, "See the masked rows", Place("masked rows", subject.version))
    if found.respelled:
        seen = see(subject, "See the files", Place("files", subject.version))
    first = min((version for version, _, path in subject.contradictions or () if path in paths), default=None)
    back = None if first is None or first <= subject.history.first_readable else first - 1
    return (
        Finding(
            rule="contested-files",
            severity="error",
            label=f"{fmt.plural(len(paths), 'file')} read differently",
            title=f"Readers disagree about {fmt.plural(len(paths), 'live file')}: "
            f"{fmt.quantity(found.rows, 'row')} here, {fmt.count(found.rows_elsewhere)} by {key}",
            evidence=(
                Evidence(named(list(found.paths)), Place("files", subject.version)),
                *((Evidence("the first contradiction", Place("commit", first)),) if first is not None else ()),
            ),
            effect=found.message,
            remedy=seen if back is None else Remedy(f"Restore v{back}\u2026", intent=Restore(version=back)),
            versions=((subject.version, subject.version),),
            files=len(paths),
        ),
    )


def _empty_strings(subject: Subject, found: ContestedFiles) -> Finding:
    """Files with an empty string as a partition value, which only some readers take for NULL."""
    column = format_column((found.column,))
    return Finding(
        rule="contested-files",
        severity="error",
        label=f"{fmt.plural(len(found.paths), 'file')} read differently",
        title=f"Readers disagree about {named([found.column])} in {fmt.plural(len(found.paths), 'live file')}: NULL in "
        f"{fmt.quantity(found.rows, 'row')} here, in {fmt.count(found.rows_elsewhere)} by delta-spark",
        evidence=(Evidence(named(list(found.paths)), Place("files", subject.version)),),
        effect=found.message,
        remedy=Remedy("Write NULL instead\u2026", intent=Update(where=f"{column} IS NULL", set={column: "NULL"})),
        versions=((subject.version, subject.version),),
        files=len(found.paths),
    )


def _checkpoints(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.looked.integrity
    doubted = newest_checkpoint_problems(subject) if report is None else ()
    if report is None and not doubted:
        return NotAnswered(_UNVERIFIED)
    problems = doubted if report is None else [each for each in report.problems if each.kind in _OF_CHECKPOINTS]
    if not problems:
        return ()
    return _differing(
        problems,
        ("checkpoint", "error", "does not hold what the commits give"),
        "A reader begins at the newest checkpoint, so it answers differently from one that reads the commits, or not "
        "at all.",
        _checkpoint_step(subject),
    )


def _checkpoint_step(subject: Subject) -> Remedy:
    """The next step for a wrong checkpoint: it is written again where the commits give its version."""
    if is_repairable(subject):
        return Remedy("Write the checkpoint again\u2026", intent=Checkpoint())
    return Remedy("Restore the log files from a backup", command=verify_command(subject))


def _compactions(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.looked.integrity
    problems = newest_compaction_problems(subject) if report is None else report.problems
    if problems is None:
        return NotAnswered(_UNVERIFIED)
    return _differing(
        [each for each in problems if each.kind == "compaction-differs"],
        ("compaction", "error", "does not hold what the commits give"),
        "A reader that takes the compaction for its commits, as delta-spark does, can answer with other rows, without "
        "an error. The commits hold all that is true: take the compaction out of the log\u2019s folder.",
        Remedy("Verify the log", command=verify_command(subject)),
    )


def _checksums(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    return _of_kinds(
        subject,
        {"checksum-differs", "unreadable-checksum"},
        ("checksum", "warning", "does not agree with the commits"),
        "A client that trusts it opens the table with other numbers, or refuses it.",
    )


def _metrics(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Commits whose operation metrics their actions contradict; the worst where actions seem to be missing."""
    report = subject.looked.integrity
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
            + ("did less than the writer recorded" if short else "did not do what the operation metrics state"),
            evidence=_details(problems),
            effect="Rows or deletions that the writer counted are not in the log: they may be lost. Compare the rows "
            "with their source, and write again what is missing."
            if short
            else "Readers do not use these numbers. History pages of other clients show them.",
            remedy=of_first,
            versions=versions,
        ),
    )


def _form(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """The other faults that verifying finds, but for those that other rules find by themselves."""
    report = subject.looked.integrity
    unasked = unusual_checkpoint_types(subject) if report is None else ()
    if report is None and not unasked:
        return NotAnswered(_UNVERIFIED)
    known = {(each[0], kind) for each in subject.contradictions or () for kind in _alike(each[1])}
    problems = [
        each
        for each in (unasked if report is None else report.problems)
        if each.kind not in ELSEWHERE and (each.version, each.kind) not in known
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
            label=fmt.plural(len(problems), "fault of the log", "faults of the log"),
            title=f"The log does not keep to the protocol: {', '.join(FAULTS[kind] for kind in kinds)}",
            evidence=_details(problems),
            effect="Some clients refuse the table because of it, or miss files or row ids: each detail says what."
            if misleads
            else "Readers are not known to answer wrongly because of it; what wrote it may do so again.",
            remedy=Remedy("Verify the log", command=verify_command(subject)),
            versions=_versions(problems),
        ),
    )


def _alike(kind: str) -> tuple[str, ...]:
    return ("contradictory-action",) if kind == "added and removed" else ("duplicate-action", "unremoved-vector")


def _of_kinds(
    subject: Subject, kinds: set[str], words: tuple[str, Severity, str], effect: str
) -> tuple[Finding, ...] | NotAnswered:
    report = subject.looked.integrity
    if report is None:
        return NotAnswered(_UNVERIFIED)
    problems = [each for each in report.problems if each.kind in kinds]
    return _differing(problems, words, effect, Remedy("Verify the log", command=verify_command(subject)))


def _differing(
    problems: Sequence[Problem], words: tuple[str, Severity, str], effect: str, remedy: Remedy
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


def _details(problems: Sequence[Problem]) -> tuple[Evidence, ...]:
    shown = tuple(
        Evidence(
            fmt.shorten(fmt.plain(_detail(each), 400), 300),
            None if each.version is None else Place("commit", each.version),
        )
        for each in problems[:_MOST_DETAILS]
    )
    more = len(problems) - _MOST_DETAILS
    return (*shown, Evidence(f"{more:,} more")) if more > 0 else shown


def _detail(problem: Problem) -> str:
    """Return what is wrong with a file, which is named once."""
    return problem.detail if problem.file in problem.detail else f"{problem.file}: {problem.detail}"


def _versions(problems: Sequence[Problem]) -> tuple[tuple[int, int], ...]:
    return runs(np.array(sorted({each.version for each in problems if each.version is not None}), np.int64))


def _tampered(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Whether a head that somebody saved is that of the chain at some version; then all up to it is as it was."""
    saved = subject.looked.chain_head
    if saved is None:
        return NotAnswered("There is no chain head saved earlier to compare with: give the one that verify printed.")
    found = [version for version, head in links(subject.log.store, subject.listing.commits) if head == saved.lower()]
    if found:
        return ()
    first = min(subject.listing.commits, default=0)
    whole = first == 0
    return (
        Finding(
            rule="tampered-log",
            severity="error" if whole else "warning",
            label="the log was changed" if whole else "chain head not found",
            title="The log does not hold what it held when the chain head was saved"
            if whole
            else "The saved chain head is of no version that the log still proves",
            evidence=(
                Evidence(f"saved: {fmt.shorten(fmt.plain(saved, 100), 64)}"),
                Evidence(f"the chain was made over {spans(runs(np.array(list(subject.listing.commits), np.int64)))}"),
            ),
            effect="A commit was changed, removed or added since, or the head is another table\u2019s."
            if whole
            else f"Commits before v{first} are gone: either they were cleaned up after the head was saved, or somebody "
            "changed the log. Save a new head after each clean-up.",
            remedy=Remedy(
                "List the commits, and compare them with a copy of the log" if whole else "Save the new chain head",
                command=table_command(subject, "history") if whole else verify_command(subject),
            ),
        ),
    )


INTEGRITY_RULES: Final = (
    Rule(
        "contested-files",
        "error",
        "files that readers disagree about",
        "The same table has other rows in another client, without an error.",
        _contested,
    ),
    Rule(
        "contradictory-actions",
        "error",
        "actions that contradict each other",
        "Readers may differ in what such a commit means.",
        _contradictions,
    ),
    Rule(
        "checkpoint-differs",
        "error",
        "checkpoints against replay",
        "Readers begin at a checkpoint and trust it.",
        _checkpoints,
    ),
    Rule(
        "compaction-differs",
        "error",
        "compactions of the log against their commits",
        "Some readers take a compaction for the commits that it stands for.",
        _compactions,
    ),
    Rule(
        "tampered-log",
        "error",
        "the log against a saved chain head",
        "Only a head kept elsewhere shows that history was not rewritten.",
        _tampered,
    ),
    Rule(
        "metrics-differ",
        "error",
        "operation metrics against the actions of their commit",
        "A commit that lacks actions looks like any other.",
        _metrics,
    ),
    Rule("checksum-differs", "warning", "checksums against replay", "Clients check tables with them.", _checksums),
    Rule("log-faults", "error", "other faults of the log\u2019s form", "Other clients may stumble over them.", _form),
)
