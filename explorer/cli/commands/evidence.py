"""``verify``, ``pin``, ``verify-report``: whether a log keeps to the protocol, and a log or a report is as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument, checked_version
from explorer.cli.named_times import version_of
from explorer.cli.output import emit, listing, note, patience
from explorer.cli.report_files import check_place, read_case_file, read_whole, save_whole, signature_of
from explorer.cli.tables import location_of, open_named
from explorer.core.errors import RequestError
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.verify import integrity
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit_plan import PlanDocument
from explorer.storage import open_store
from explorer.storage.roots import is_catalog_address
from explorer.storage.served_root import options_of

if TYPE_CHECKING:
    from explorer.report import Verification
    from explorer.report.case_file import AnyPin, PlanPin

_FINDINGS: Final = 1
_BROKEN: Final = 3


class ProblemLine(JsonRecord, frozen=True, kw_only=True):
    """A problem of a log; ``version`` is null if it concerns the log as a whole."""

    kind: str
    version: int | None
    file: str
    detail: str
    next_step: str


class VerifyDocument(JsonRecord, frozen=True, kw_only=True):
    """The problems of a log.

    Attributes:
        first_version: The oldest version that can be rebuilt; null if none can.
        chain_head: The head of a hash chain over the commits; null if the newest commit is not stored.
    """

    table: str
    first_version: int | None
    last_version: int
    problems: tuple[ProblemLine, ...]
    chain_head: str | None


def _opened(table: str) -> tuple[LogStore, CommitCatalog | None]:
    """Return the store of a table, and the catalog of its commits where it is named by its name in one."""
    if not is_catalog_address(table):
        location = location_of(table)
        return open_store(location, options_of(location)), None
    from explorer.catalogs.opening import open_catalog_table

    opened = open_catalog_table(table, read_only=True)
    return opened.store, opened.commits


def verify(table: TableArgument, json: JsonFlag = False) -> int:
    """Verify the log: gaps, invalid or contradictory commits, invalid metadata, checksums and checkpoints.

    Exit code 0 if there are no problems, 3 if a problem prevents versions from being read, otherwise 1. Tables that
    need an unsupported feature can be verified too.
    """
    with patience("Reading the whole log"):
        store, catalog = _opened(table)
        report = integrity.verify(store, catalog)
    if json:
        problems = tuple(ProblemLine.of(each) for each in report.problems)
        emit(VerifyDocument.of(report, table=store.root, problems=problems))
    else:
        rows = (
            (each.kind, "" if each.version is None else each.version, each.file, each.detail, each.next_step)
            for each in report.problems
        )
        columns = ["kind", "version", "file", "detail", "next step"]
        listing(columns, rows, "No problems were found.", numbers=("version",))
        note(f"Chain head {report.chain_head or fmt.UNKNOWN}, last version {report.last_version}.")
    if any(each.breaking for each in report.problems):
        return _BROKEN
    return _FINDINGS if report.problems else 0


_CHANGED: Final = 1


def pin(
    case: Annotated[Path, typer.Argument(metavar="CASE", help="Case file (.json). Created if it does not exist.")],
    table: TableArgument,
    *,
    commit: Annotated[
        str | None,
        typer.Option(
            "--commit",
            metavar="N",
            callback=checked_version,
            help="Pin the commit of version N, or the last at a time.",
        ),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None, typer.Option("--diff", metavar="FROM TO", help="Pin the diff of two versions.")
    ] = None,
    finding: Annotated[
        str | None, typer.Option("--finding", metavar="ID", help="Pin a finding, by the ID of its rule.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="Pin a data file of --version.")] = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="N", callback=checked_version, help="Version of --file, or a time (default: newest)."
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Pin a plan that plan --json printed.")
    ] = None,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why it matters.")] = "",
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of a new case.")] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Author of a new case.")] = None,
    json: JsonFlag = False,
) -> None:
    """Pin evidence of a table to a case file, which audit --case puts into a report. Changes nothing in the table.

    A commit is pinned with the digest of its file, so that the report can tell whether it is still the same. A pin that
    does not match the table is refused. If the table changes later, the pin stays in the report and is marked.
    """
    from explorer.auditing import Subject, audit
    from explorer.report.case_file import CaseFile, CommitPin, DiffPin, FilePin, FindingPin
    from explorer.report.pins import pinned, report_findings

    check_place(case)
    known = read_case_file(case) if case.exists() else CaseFile(title=title or case.stem, author=author or "")
    if case.suffix == ".toml":
        raise RequestError(f"{case} is TOML, which you write by hand. Add the pin to it, or name a .json file.")
    opened = open_named(table)
    now = datetime.now(UTC).replace(microsecond=0)
    at = opened.latest_version() if version is None else version_of(opened, version)
    wanted: list[AnyPin | None] = [
        None if commit is None else CommitPin(version=version_of(opened, commit)),
        None if diff is None else DiffPin(from_version=diff[0], to_version=diff[1]),
        None if finding is None else FindingPin(id=finding),
        None if file is None else FilePin(path=file, version=at),
        None if plan is None else _plan_pin(plan),
    ]
    named = [each for each in wanted if each is not None]
    if len(named) != 1:
        raise RequestError("Give exactly one of --commit, --diff, --finding, --file, and --plan.")
    requested = msgspec.structs.replace(named[0], note=text, pinned=now, table=opened.location)
    subject = Subject(opened, now)
    added = pinned(requested, subject, report_findings(audit(subject)))
    changed = msgspec.structs.replace(known, pins=(*known.pins, added))
    save_whole(case, changed.document())
    if json:
        emit(changed)
    else:
        listing(
            ["kind", "note", "pinned", "table"],
            [
                (type(each).__name__.removesuffix("Pin").lower(), each.note, fmt.day(each.pinned), each.table or "")
                for each in changed.pins
            ],
            "No pins.",
        )


def verify_report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A report, .html or .json.", show_default=False)],
    signature: Annotated[
        Path | None, typer.Option("--signature", metavar="FILE", help="Signature of the report (default: FILE.sig).")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="PUBLIC", help="Trusted public key, or a file of allowed signers."),
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Verify a report: its digest, its text against its data, and its signature if it has one.

    Without --key, a signature shows only that the file has not changed since it was signed, not who signed it. The
    signature has the format of OpenSSH, so ssh-keygen -Y verify -n delta-explorer checks it too.

    The exit code is 0 if the report is valid. Otherwise it is 1, and each part that differs is listed.
    """
    from explorer.report import verify_report as verified
    from explorer.report.signature import read_trusted

    data = read_whole(file)
    signature_file = signature_of(file) if signature is None else signature
    signed = read_whole(signature_file) if signature is not None or signature_file.exists() else None
    trusted = None if key is None else read_trusted(read_whole(key), key.name)
    verification = verified(data, signed, trusted)
    if json:
        emit(verification)
    else:
        _print_verified(file, verification)
    return 0 if verification.valid else _CHANGED


def _print_verified(file: Path, checked: Verification) -> None:
    if checked.valid:
        by = "not signed" if checked.signer is None else f"signed by {checked.signer}"
        doubt = "; name the key that you trust with --key" if checked.signer is not None and not checked.trusted else ""
        note(f"{file} is valid, digest {checked.digest}, {by}{doubt}.")
        return
    rows = [
        (each.part, "" if each.line is None else each.line, each.detail, each.found or "", each.expected or "")
        for each in checked.differences
    ]
    listing(["part", "line", "what is wrong", "found", "expected"], rows, "", numbers=("line",))
    note(f"{file} is NOT valid.")


def _plan_pin(path: Path) -> PlanPin:
    from explorer.report.case_file import PlanPin

    try:
        return PlanPin(plan=msgspec.json.decode(read_whole(path), type=PlanDocument))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestError(
            f"{path} is not a plan: {error}. Write it again with plan --json.", path=str(path), reason=str(error)
        ) from error
