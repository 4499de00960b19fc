"""Vacuums that were run, or could be run, against what the table or its users need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, table_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, duration, runs
from explorer.core.protocol.table_features import VACUUM_CHECK, active_features
from explorer.core.protocol.table_properties.registry import ENABLED_FORMATS, FILE_RETENTION
from explorer.core.transaction.intents.records import EnableFeature, SetProperties

_DAY: Final = 86_400_000
_MOST_DIGITS: Final = 18


def _unchecked(subject: Subject) -> tuple[Finding, ...]:
    """Report vacuums below the table's retention period: running readers and writers may have lost files."""
    hasty = [each for each in _vacuums(subject) if each[1] < subject.risks.terms.files]
    if not hasty:
        return ()
    version, period, off = hasty[-1]
    more = len(hasty) - 1
    return (
        Finding(
            rule="hasty-vacuum",
            severity="warning",
            label=f"hasty vacuum, v{version}",
            title=f"A vacuum kept files for {duration(period)}; the table requires "
            f"{duration(subject.risks.terms.files)}",
            evidence=(
                commit_evidence(subject, version),
                *((Evidence("the retention check was turned off"),) if off else ()),
                *((Evidence(f"{fmt.plural(more, 'earlier vacuum')} did the same"),) if more else ()),
            ),
            effect="Versions within the retention period were deleted. A reader or writer running at that time "
            "may have failed, or lost its data.",
            remedy=Remedy("See which versions can still be read", command=table_command(subject, "retention")),
            versions=runs(np.array([each[0] for each in hasty], np.int64)),
        ),
    )


def _vacuums(subject: Subject) -> Iterator[tuple[int, int, bool]]:
    """Version, ms for which files were kept, and whether the check was off, of each vacuum that says so."""
    for record in subject.history.commits:
        info = record.info
        if info is None or info.operation != "VACUUM START" or info.operation_parameters is None:
            continue
        given = str(info.operation_parameters.get("specifiedRetentionMillis"))
        if given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS:
            off = str(info.operation_parameters.get("retentionCheckEnabled")).lower() == "false"
            yield record.version, int(given), off


def _iceberg(subject: Subject) -> tuple[Finding, ...]:
    """Metadata of other formats beside the table: a vacuum that does not check the writer features deletes it."""
    configuration = subject.metadata.configuration
    if not ENABLED_FORMATS.is_set(configuration) or VACUUM_CHECK in active_features(subject.protocol):
        return ()
    return (
        Finding(
            rule="vacuum-unprotected",
            severity="warning",
            label=f"no {VACUUM_CHECK}",
            title="A vacuum by an older client may delete the metadata of other formats",
            evidence=(
                Evidence(f"{ENABLED_FORMATS} is {ENABLED_FORMATS.text(configuration)}"),
                Evidence(f"{VACUUM_CHECK} is not in the protocol", Place("state")),
            ),
            effect="Clients check only the reader features before a vacuum unless the table has this feature.",
            remedy=Remedy(f"Add {VACUUM_CHECK}\u2026", intent=EnableFeature(feature=VACUUM_CHECK)),
        ),
    )


def _restored(subject: Subject) -> tuple[Finding, ...]:
    """Restores that reached further back than removed files are kept now: the need that the history shows."""
    restores = subject.commits.versions[subject.commits.where("operation", "RESTORE")].tolist()
    reach = [age for version in restores if (age := _reach(subject, version)) is not None]
    period = subject.risks.terms.files
    if not reach or (furthest := max(reach))[0] <= period:
        return ()
    back, version, target = furthest
    better = -(-back // _DAY)
    return (
        Finding(
            rule="restore-reach",
            severity="warning",
            label=f"a restore reached {duration(_DAY * (back // _DAY))} back",
            title=f"A restore needed a version that was {fmt.plural(back // _DAY, 'day')} old; files are kept for "
            f"{duration(period)}",
            evidence=(commit_evidence(subject, version), Evidence(f"to v{target}", Place("commit", target))),
            effect="The files of the next such restore may already be vacuumed.",
            remedy=Remedy(
                f"Keep files for {fmt.plural(better, 'day')}\u2026",
                intent=SetProperties(properties={FILE_RETENTION.key: f"interval {better} days"}),
            ),
            versions=((version, version),),
        ),
    )


def _reach(subject: Subject, version: int) -> tuple[int, int, int] | None:
    """Return the versions of a RESTORE, and how long before it its state had been replaced, in ms."""
    parameters = subject.commits.map(version, "parameters")
    text = str(parameters.get("version"))
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        return None
    target = int(text)
    then, replaced = subject.history.timestamp(version), subject.history.timestamp(target + 1)
    return None if then is None or replaced is None or target >= version else (then - replaced, version, target)


HAZARD_RULES: Final = (
    Rule(
        "hasty-vacuum",
        "warning",
        "vacuums below the table's retention period",
        "They delete files that readers and writers still need.",
        _unchecked,
    ),
    Rule(
        "restore-reach",
        "warning",
        "retention shorter than restores needed",
        "A restore needs the files of its target version.",
        _restored,
    ),
    Rule(
        "vacuum-unprotected",
        "warning",
        "vacuums that check too little",
        "A client that does not support a writer feature may delete files that the feature needs.",
        _iceberg,
    ),
)
