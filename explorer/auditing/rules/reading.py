"""What keeps readers from rows: features, places of files, and what only some clients take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place
from explorer.auditing.rule import Rule, see, written_again
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.compatibility.demands import paths_without_uri
from explorer.core.errors import ExplorerError, UnsupportedFeature
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.schema.type_widening import unlisted_changes
from explorer.core.protocol.table_features import is_managed, missing_features

_MOST: Final = 4
_LEAVING: Final = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|\.\."


def _unread(subject: Subject) -> tuple[Finding, ...]:
    """Report a table that requires unsupported features."""
    try:
        subject.snapshot.files(["path"])
        subject.snapshot.require_schema()
    except UnsupportedFeature as error:
        managed = is_managed(error)
        what = "version" if managed else "newest version"
        return (
            Finding(
                rule="unread-table",
                severity="warning",
                label="managed by a catalog" if managed else "not read here",
                title=f"A catalog manages the table; v{subject.version} is the last published version"
                if managed
                else "Delta Table Explorer cannot read the rows of the newest version",
                evidence=(Evidence(str(error)),),
                effect=f"No rule that needs a {what} can be checked here, and the table cannot be written here.",
                remedy=see(subject, "See which clients read the table", Place("clients")),
                versions=((subject.version, subject.version),),
            ),
        )
    return ()


def _unreachable(subject: Subject) -> tuple[Finding, ...]:
    """Report live files, or their deletion vectors, in inaccessible locations."""
    places, faults = FileLocations(subject.log.store), dict[str, str]()
    for name, path in _outside_paths(subject):
        try:
            places.place_of(path if isinstance(path, str) else location(path) or "")
        except ExplorerError as error:
            faults[name] = str(error)
    if not faults:
        return ()
    reasons = list(dict.fromkeys(faults.values()))
    count = len(faults)
    return (
        Finding(
            rule="unreachable-files",
            severity="error",
            label=f"{fmt.plural(count, 'file')} out of reach",
            title=f"{fmt.plural(count, 'file')} of the newest version cannot be reached",
            evidence=(
                Evidence(named(list(faults), count), Place("files", subject.version)),
                *(Evidence(fmt.shorten(fmt.plain(reason, 400), 300)) for reason in reasons[:_MOST]),
            ),
            effect="A query that needs one of them fails. It is unknown whether they exist.",
            remedy=see(subject, "See the files, and copy them to the table or allow their storage", Place("files")),
            versions=((subject.version, subject.version),),
            files=count,
        ),
    )


def _outside_paths(subject: Subject) -> Iterator[tuple[str, str | DeletionVectorId]]:
    """Yield the live files whose path leaves the table, and the files of their deletion vectors, with names."""
    life, live = subject.history.lifetimes, subject.live
    paths = life.take(live, ["path"]).column(0)
    for path in paths.filter(pc.match_substring_regex(paths, _LEAVING)).to_pylist():
        yield path, path
    places, vectors = life.vector_files
    for place in sorted({*places[live].tolist()} - {-1}):
        yield f"the deletion vector {vectors[place].path_or_inline_dv}", vectors[place]


def _no_uris(subject: Subject) -> tuple[Finding, ...]:
    """Report live files whose path in the log is not a URI, as the protocol requires."""
    paths = subject.history.lifetimes.take(subject.live, ["raw_path"]).column(0)
    plain = paths_without_uri(paths).to_pylist()
    if not plain:
        return ()
    return (
        Finding(
            rule="unencoded-paths",
            severity="warning",
            label=f"{fmt.plural(len(plain), 'path')} not encoded",
            title=f"{fmt.plural(len(plain), 'live file')} {'has' if len(plain) == 1 else 'have'} a path that is "
            "not a URI",
            evidence=(Evidence(named(plain, len(plain)), Place("files", subject.version)),),
            effect="delta-spark fails on such a path, and other clients may read another file. Delta Table Explorer "
            "uses the path as written.",
            remedy=written_again(subject),
            versions=((subject.version, subject.version),),
            files=len(plain),
        ),
    )


def _unlisted_changes(subject: Subject) -> tuple[Finding, ...]:
    """Report columns with a type change that the protocol does not list."""
    if missing_features(["typeWidening"], subject.protocol):
        return ()  # without the feature the records mean nothing
    unlisted = [
        (format_column(path), change)
        for path, field in walk(subject.snapshot.schema)
        for change in unlisted_changes(field)
    ]
    if not unlisted:
        return ()
    columns = list(dict.fromkeys(column for column, _ in unlisted))
    return (
        Finding(
            rule="unlisted-type-changes",
            severity="warning",
            label=f"{fmt.plural(len(columns), 'column')} with an unlisted type change",
            title=f"The change of type of {named(columns, len(columns))} is not listed in the protocol",
            evidence=tuple(
                Evidence(f"{column}: {change}", Place("columns", column=column)) for column, change in unlisted
            ),
            effect="delta-spark refuses the table; delta-kernel and Delta Table Explorer read it. A byte or short "
            "may become a "
            "decimal with at least ten digits before the point.",
            remedy=written_again(subject),
        ),
    )


READING_RULES: Final = (
    Rule(
        "unread-table",
        "warning",
        "tables that Delta Table Explorer cannot read",
        "Data that cannot be read is not checked.",
        _unread,
    ),
    Rule(
        "unreachable-files",
        "error",
        "live files in inaccessible locations",
        "A query that needs one fails.",
        _unreachable,
    ),
    Rule(
        "unencoded-paths",
        "warning",
        "paths that are not URIs",
        "Some clients cannot read the file, and fail.",
        _no_uris,
    ),
    Rule(
        "unlisted-type-changes",
        "warning",
        "type changes that the protocol does not list",
        "Some clients refuse such a table.",
        _unlisted_changes,
    ),
)
