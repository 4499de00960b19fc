"""``pin`` and ``verify-report``: evidence to put into a report, and whether a report is unchanged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument, checked_version
from explorer.cli.named_times import version_of
from explorer.cli.output import emit, listing, note
from explorer.cli.report_files import check_place, read_case_file, read_whole, save_whole, signature_of
from explorer.cli.tables import open_named
from explorer.core.errors import RequestError
from explorer.core.transaction.commit_plan import PlanDocument

if TYPE_CHECKING:
    from explorer.report import Verification
    from explorer.report.case_file import AnyPin, PlanPin

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
