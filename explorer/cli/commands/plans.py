"""``plan``, ``commit`` and ``undo``: show a change or what undoes one, and make it after the table's name is typed."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, SparkConfOption, SparkOption, TableArgument, checked_version, use_spark
from explorer.cli.errors import exit_code
from explorer.cli.named_times import version_of
from explorer.cli.output import complain, emit, encode, facts, listing, note, patience
from explorer.cli.report_files import read_whole
from explorer.cli.tables import open_named
from explorer.cli.two_people import carried_out
from explorer.core.errors import Cancelled, CommitError, RequestError
from explorer.core.transaction.commit.conflicts import error_of, guard_failed
from explorer.core.transaction.commit_plan import (
    CommitPlan,
    MaintenanceFile,
    MaintenancePlan,
    MaintenanceResult,
    Plan,
    PlanDocument,
    PlanResult,
)
from explorer.core.transaction.intents.documents import intent_kind, parse_intent
from explorer.core.transaction.intents.records import CreateTable, Intent, Vacuum
from explorer.core.transaction.proposal import GRAVEST_FIRST, GuardResult
from explorer.storage.served_root import options_of

if TYPE_CHECKING:
    from explorer.core.transaction.undoing.undo import Undo
    from explorer.new_table import NewTable
    from explorer.views.act.plan_view import LossGroup

IntentArgument = Annotated[
    str,
    typer.Argument(
        metavar="INTENT",
        help='What to change, as JSON, for example {"kind": "set-description", "description": "..."}; '
        "@FILE reads it from a file, - from standard input.",
        show_default=False,
    ),
]
AcceptOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="NAME",
        help="Accept this guard: an unknown one, or a failed one that can be accepted. Repeatable.",
    ),
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="User name recorded in the commit (default: your account name)."),
]
CheckRowsFlag = Annotated[
    bool,
    typer.Option(
        "--check-rows/--no-check-rows",
        help="Check rows with Spark for the guards that need it. Otherwise those guards are unknown.",
    ),
]

_MOST_FILES = 200


def read_intent(text: str) -> str:
    """Return the JSON of an intent, from the argument, a file or standard input."""
    if text != "-" and not text.startswith("@"):
        return text
    try:
        return read_whole(None if text == "-" else Path(text[1:])).decode()
    except ValueError as error:
        raise RequestError(f"The intent cannot be read from {text[1:]!r}: {error}.", location=text[1:]) from error


def plan(
    table: TableArgument,
    intent: IntentArgument,
    *,
    accept: AcceptOption = None,
    user: UserOption = None,
    check_rows: CheckRowsFlag = True,
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask",
            metavar="REASON",
            help="Ask for the approval of a second person, where the configuration needs one, and print the request.",
        ),
    ] = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> int:
    """Show what a commit would do: guards with evidence, the exact actions, the consequences. Changes nothing.

    Exit code 0 if the plan can be committed, 5 if a guard fails, or is unknown and not accepted. The plan is shown
    either way.
    """
    use_spark(spark, spark_conf)
    wanted = parse_intent(read_intent(intent))
    target = _target(table, wanted)
    with patience("Making the plan"):
        planned = target.plan(wanted, accept=tuple(accept or ()), check_rows=check_rows, user=_user(user))
    _check_accepted(planned, accept or ())
    if ask is not None and planned.committable:
        from explorer.cli.commands.team.approvals import asked

        if not json:
            _print_plan(planned)
        asked(target.location, planned, ask, as_json=json)
        return 0
    if json:
        emit(planned.record())
    else:
        _print_plan(planned)
    return 0 if planned.committable else _refuse(guard_failed(planned), as_json=json)


def commit(
    table: TableArgument,
    intent: IntentArgument,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, recorded in the history.")],
    yes: Annotated[bool, typer.Option("--yes", help="Commit without asking for the table's name.")] = False,
    accept: AcceptOption = None,
    user: UserOption = None,
    check_rows: CheckRowsFlag = True,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> int:
    """Make a plan, and commit it after you type the table's name.

    Exit code 0 if it was committed, otherwise 5: conflicted (with another commit), rejected (by a guard) or unknown
    (the answer of the store was lost, and the log does not show the commit yet).
    """
    _check_reason(reason)
    use_spark(spark, spark_conf)
    wanted, who = parse_intent(read_intent(intent)), _user(user)
    target = _target(table, wanted)
    with patience("Making the plan"):
        planned = target.plan(wanted, accept=tuple(accept or ()), check_rows=check_rows, user=who)
    _check_accepted(planned, accept or ())
    if not json:
        _print_plan(planned)
    if planned.committable and not yes:
        _confirm(target)
    result = _carried_out(target, planned, reason, who)
    if json:
        emit(result.record())
    elif result.outcome == "committed":
        _print_receipt(result)
    return 0 if result.outcome == "committed" else _refuse(_error_of(result), as_json=json)


def undo(
    table: TableArgument,
    version: Annotated[
        str | None,
        typer.Argument(
            metavar="[VERSION]",
            callback=checked_version,
            help="Version of the commit, or a time, for the newest commit then (default: newest).",
        ),
    ] = None,
    *,
    commit: Annotated[bool, typer.Option("--commit", help="Commit the undo, with --reason.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, recorded in the history.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Commit without asking for the table's name.")] = False,
    accept: AcceptOption = None,
    user: UserOption = None,
    check_rows: CheckRowsFlag = True,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> int:
    """Show what undoes a commit: its exact inverse or a restore, and what later commits lose. With --commit, do it.

    Exit code 0 if the undo can be committed, or was; 5 if a guard fails, or is unknown and not accepted; 2 if nothing
    undoes the commit.
    """
    if commit:
        _check_reason(reason)
    use_spark(spark, spark_conf)
    opened, who = open_named(table), _user(user)
    undone = opened.undo(None if version is None else version_of(opened, version))
    if not json:
        _print_undo(undone)
    if not undone.steps:
        raise RequestError(f"Nothing undoes version {undone.version}: {undone.text}", version=undone.version)
    made: list[PlanDocument] = []
    error: CommitError | None = None
    for step in undone.steps if commit else undone.steps[:1]:
        with patience("Making the plan"):
            planned = opened.plan(step, accept=tuple(accept or ()), check_rows=check_rows, user=who)
        if not made:
            _check_accepted(planned, accept or ())
        if not json:
            _print_plan(planned)
        if not commit or not planned.committable:
            made.append(planned.record())
            error = None if planned.committable else guard_failed(planned)
            break
        if not yes and not made:
            _confirm(opened)
        result = _carried_out(opened, planned, reason, who)
        made.append(result.record())
        if result.outcome != "committed":
            error = _error_of(result)
            break
        if not json:
            _print_receipt(result)
    if json:
        emit(undone.record(opened.location, tuple(made)))
    return 0 if error is None else _refuse(error, as_json=json)


def _print_undo(undone: Undo) -> None:
    by = f" by {undone.user}" if undone.user else ""
    stated = [
        ("commit", f"{undone.operation or 'unknown'}{by}"),
        ("reason", undone.reason or ""),
        ("undo", undone.text),
    ]
    stated += [("no exact inverse", undone.why)] if undone.why else []
    facts(f"Undo version {undone.version}", [(name, text) for name, text in stated if text])
    listing(
        ["version", "operation", "by", "reason"],
        ((each.version, each.operation or "unknown", each.user or "", each.reason or "") for each in undone.later),
        "",
        numbers=("version",),
    )


def _target(location: str, intent: Intent) -> explorer.Table | NewTable:
    """Return the table to change, or the place of one to make."""
    if not isinstance(intent, CreateTable):
        return open_named(location)
    from explorer.new_table import new_table

    return new_table(location, storage_options=options_of(location))


def _user(given: str | None) -> str | None:
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None  # an account without a name, as containers have; the guard ``committer`` says so


def _check_accepted(planned: Plan, accept: Sequence[str]) -> None:
    names = [guard.name for guard in planned.guards]
    for name in accept:
        if name not in names:
            raise RequestError(f"There is no guard {name!r} to accept; the guards are: {', '.join(names)}.")


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise RequestError("The reason is empty. Give --reason a text; the history records it.")


def _carried_out(target: explorer.Table | NewTable, planned: Plan, reason: str, user: str | None) -> PlanResult:
    """Carry out a plan; an interrupted one may have been, and that is said."""
    try:
        with patience("Committing"):
            return carried_out(target, planned, reason, user)
    except KeyboardInterrupt:
        raise _interrupted(planned) from None


def _confirm(target: explorer.Table | NewTable) -> None:
    """Ask for the table's name; without a terminal the name is read from standard input unasked."""
    name = _name_of(target)
    if sys.stdin.isatty():
        sys.stderr.write(f"Type {fmt.plain(name)} to commit: ")
        sys.stderr.flush()
    typed = sys.stdin.readline().strip()
    if typed != name:
        got = f"{typed!r} is not its name" if typed else "no name was typed"
        raise Cancelled(f"Nothing was committed: type the table's name, {name!r}, or give --yes; {got}.")


def _name_of(target: explorer.Table | NewTable) -> str:
    """Return the table's name: in its catalog, or that of its folder."""
    if isinstance(target, explorer.Table):
        address = None if target.catalog_entry is None else target.catalog_entry.address
    else:
        address = target.catalog_address
    if address is not None:
        from explorer.catalogs.address import parse_table

        return parse_table(address).table
    return target.location.rstrip("/").rpartition("/")[2]


def _interrupted(planned: Plan) -> Cancelled:
    text = "Interrupted while the change was being made."
    if isinstance(planned, MaintenancePlan):
        return Cancelled(f"{text} It may be partly done, and that part is permanent. Create a new plan for the rest.")
    done = f"It may have been made: look for the transaction {planned.txn_id} in the newest commits."
    return Cancelled(f"{text} {done}", found=planned.txn_id)


def _error_of(result: PlanResult) -> CommitError:
    return guard_failed(result.plan) if isinstance(result, MaintenanceResult) else error_of(result)


def _refuse(error: CommitError, *, as_json: bool) -> int:
    complain(error.facts(), as_json=as_json)
    return exit_code(error)


def _detail(guard: GuardResult) -> str:
    return str(guard.evidence.get("detail", ""))


def _print_plan(planned: Plan) -> None:
    writes = f"version {planned.commit_version}" if isinstance(planned, CommitPlan) else _commits_of(planned)
    read = "a location without a table" if planned.read_version < 0 else f"version {planned.read_version}"
    facts(
        planned.table,
        [("change", intent_kind(planned.intent)), ("rests on", read), ("writes", writes), ("digest", planned.digest)],
    )
    guards = sorted(planned.guards, key=lambda guard: GRAVEST_FIRST.index(guard.status))
    listing(
        ["guard", "status", "evidence", "remedy"],
        ((guard.name, guard.status, _evidence(guard), guard.remedy or "") for guard in guards),
        "No guard was needed.",
        whole=("guard", "status"),
    )
    if isinstance(planned, CommitPlan):
        listing(["action", "content"], map(_action, planned.actions), "", whole=("action",))
    elif planned.files:
        _print_files(planned.files)
    facts("Consequences", _consequences(planned))


def _commits_of(planned: MaintenancePlan) -> str:
    if not isinstance(planned.intent, Vacuum) or not planned.files:
        return "no commit"
    return f"versions {planned.read_version + 1} and {planned.read_version + 2}, which record the vacuum"


def _print_files(files: Sequence[MaintenanceFile]) -> None:
    whys = ["reason"] if any(file.reason for file in files) else []
    rows = ((file.change, file.path, fmt.size(file.size), *(file.reason for _ in whys)) for file in files[:_MOST_FILES])
    listing(["change", "file", "size", *whys], rows, "", numbers=("size",), whole=("change",))
    if len(files) > _MOST_FILES:
        more = fmt.plural(len(files) - _MOST_FILES, "more file is", "more files are")
        note(f"{more} not shown here; --json lists all of them.")
    if len(files) > 1 and all(file.size is not None for file in files):
        note(f"{fmt.plural(len(files), 'file')}, {fmt.size(sum(file.size or 0 for file in files))}.")


def _evidence(guard: GuardResult) -> str:
    others = {name: item for name, item in guard.evidence.items() if name != "detail"}
    return " ".join(part for part in (_detail(guard), encode(others).decode() if others else "") if part)


def _action(action: dict[str, Any]) -> tuple[str, str]:
    ((name, body),) = action.items()
    return name, encode(body).decode()


def _consequences(plan: Plan) -> Iterable[tuple[str, object]]:
    from explorer.views.act.plan_view import client_losses, loss_groups, used_clients, used_in_words

    consequences, losses = plan.consequences, client_losses(plan)
    for name, operation in (("readers", "reads"), ("writers", "writes")):
        yield name, _clients(loss_groups([loss for loss in losses if loss.operation == operation]))
    used = used_clients(plan)
    if used:
        names = ", ".join(f"{each.client} {each.version}".strip() for each in used)
        yield "in use", f"{names}: {used_in_words(used)}."
    yield "time travel", consequences.time_travel
    yield "change feed", consequences.change_feed
    yield "undo", consequences.undo or "Unknown."


def _clients(groups: Sequence[LossGroup]) -> str:
    if not groups:
        return "No known client loses access or returns wrong results."
    return " ".join(map(_group, groups))


def _group(group: LossGroup) -> str:
    """Return losses of one kind: clients in use and newest releases by name, older releases counted."""
    named = ", ".join(f"{'your ' if loss.mine else ''}{loss.client} {loss.releases}" for loss in group.first)
    older = fmt.plural(len(group.older), "older release range") if group.older else ""
    return f"{group.title}: {' and '.join(filter(None, [named, older]))}."


def _print_receipt(result: PlanResult) -> None:
    if isinstance(result, MaintenanceResult):
        from explorer.views.act.written_lines import done_title

        note(f"{done_title(result)}.")
        if result.recorded:
            note(f"Recorded in {' and '.join(f'version {version}' for version in result.recorded)}.")
        for text in result.notes:
            note(f"Note: {text}")
        return
    if result.plan.proposal.recorded is None:
        note(f"Committed version {result.version}.")
    for text in result.notes:
        note(f"Note: {text}")
