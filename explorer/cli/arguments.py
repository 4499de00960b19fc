"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from explorer.configuration.in_force import spark_settings
from explorer.core.errors import RequestError
from explorer.storage.schemes import spellings
from explorer.variables import CLIENTS_VARIABLE

SCREEN: Final = 20
"""Rows shown to people without --limit."""


def checked_version(text: str | None) -> str | None:
    """Refuse a text that is neither a version nor a time, before a table is opened for it.

    Raises:
        typer.BadParameter: It is neither.
        RequestError: It is more than one time.
    """
    if text is None or (text.strip().removeprefix("v").isdecimal() and len(text.strip()) < 19):
        return text
    from datetime import UTC, datetime

    from explorer.core.versions.commits.time_words import EXAMPLES, NO_TIME, stated_time

    try:
        stated_time(text, datetime.now(UTC))
    except RequestError as error:
        if error.reason != NO_TIME:
            raise
        raise typer.BadParameter(
            f"{text!r} is neither a version, such as 12, nor a time, such as {', '.join(EXAMPLES[:-1])}, or "
            f"{EXAMPLES[-1]}."
        ) from error
    return text


TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help=f"A folder, a {spellings(persistent=True)} URL, uc://CATALOG.SCHEMA.TABLE, or schema.table in the catalog "
        "of Spark.",
        show_default=False,
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--version",
        metavar="N",
        callback=checked_version,
        help="Version to read, or a time, for example 'yesterday 18:00' (default: newest).",
    ),
]
TimestampOption = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        metavar="T",
        help="Read the version that was current at this time, in UTC unless it names a zone, for example "
        "2026-03-02T14:05:11Z, 'yesterday 18:00', 'last Monday', or '2 Mar 2026 6pm Europe/Berlin'.",
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON. Errors are printed to stderr as a JSON object.")]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=0,
        help=f"Maximum number of rows (default: {SCREEN}, or all with --json or --output).",
    ),
]
ClientsOption = Annotated[
    Path | None,
    typer.Option(
        "--clients",
        metavar="FILE",
        envvar=CLIENTS_VARIABLE,
        help="TOML file listing the clients you use: [\\[client]] tables with name, version, role, owner and note.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write to a .parquet, .csv or .jsonl file instead of stdout."),
]
ExactCsvFlag = Annotated[
    bool | None,
    typer.Option(
        "--exact-csv/--no-exact-csv",
        help="Write the cells of a CSV file exactly as they are, also those that a spreadsheet runs as formulas "
        "(default: such cells begin with an apostrophe).",
        show_default=False,
    ),
]
SparkOption = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="Spark master, for example local[4], spark://host:7077 or sc://host:15002 "
        "(default: that of DELTA_EXPLORER_SPARK or spark-defaults.conf, otherwise all cores of this machine).",
    ),
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-conf",
        metavar="NAME=VALUE",
        help="Spark setting, for example spark.executor.memory=4g; it overrides spark-defaults.conf. Repeatable.",
    ),
]
LogSparkOption = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="Replay the log with Spark, for tables with too many files for one process: local[*] for this "
        "machine, or spark://host:7077, sc://host:15002.",
    ),
]


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command options that are declared as the fields of records.

    Typer sees an option for each field of a parameter that is a dataclass; the command gets the record.
    """
    parameters = list[inspect.Parameter]()
    groups = dict[str, Any]()
    for each in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(each.annotation):
            parameters.append(each)
            continue
        groups[each.name] = each.annotation
        types = get_type_hints(each.annotation, include_extras=True)
        parameters += (
            each.replace(name=option.name, default=option.default, annotation=types[option.name])
            for option in fields(each.annotation)
        )

    def call(**options: Any) -> int:
        made = {
            name: group(**{each.name: options.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        return command(**options, **made)

    plain: Any = wraps(command)(call)
    plain.__signature__ = inspect.Signature(parameters)
    plain.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def use_spark(master: str | None, settings: Sequence[str] | None = None) -> None:
    """Let Spark run where the option names, with the given settings; nothing starts yet.

    Args:
        settings: Texts of ``--spark-conf``.

    Raises:
        RequestError: A setting cannot be read, or is refused.
        EngineUnavailable: PySpark is missing.
    """
    known = spark_settings()
    if master is None and not settings and not known:
        return
    from explorer.spark.engine.session import configure, require_pyspark
    from explorer.spark.engine.user_settings import read_settings

    require_pyspark()
    configure(master, known | read_settings(settings or ()))


def use_log_spark(master: str | None, settings: Sequence[str] | None) -> None:
    """Do the same for a command that uses Spark only where ``--spark`` names one.

    Raises:
        RequestError, EngineUnavailable: As for `use_spark`; or there are settings without a Spark to set.
    """
    if master is None and settings:
        raise RequestError(
            "--spark-conf needs --spark: without it, this command does not start Spark. Add --spark, for example "
            "--spark 'local[*]'.",
            field="spark_conf",
        )
    use_spark(master, settings)


def use_clients(file: Path | None) -> None:
    """Speak first of the clients that a file names, in all of this process.

    Raises:
        RequestError: It cannot be read, or names what is not known.
    """
    if file is not None:
        from explorer.system import my_clients

        my_clients(file)
        os.environ[CLIENTS_VARIABLE] = str(file.absolute())
