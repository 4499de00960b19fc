"""``serve`` and ``demo``: the explorer in a browser."""

from __future__ import annotations

import importlib.util
import json as json_module
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from explorer.cli.arguments import ClientsOption, JsonFlag, SparkOption, use_clients, use_spark
from explorer.cli.output import emit, note, patience
from explorer.cli.report_files import PASSPHRASE, signing_key
from explorer.core.errors import EngineUnavailable, RequestError
from explorer.debug import quiet_handlers

if TYPE_CHECKING:
    from explorer.auditing.report.signature import SigningKey

__all__ = ["register"]

DEFAULT_PORT: Final = 5007
_INSTALL: Final = 'pip install "delta-table-explorer[web]"'

PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=1,
        max=65535,
        help=f"TCP port; else {DEFAULT_PORT}, or a free one where that is taken.",
    ),
]

AllowCommitsFlag = Annotated[
    bool,
    typer.Option(
        "--allow-commits",
        help="Let changes be committed from the pages; without, every table refuses to be written to.",
    ),
]


SignOption = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        metavar="KEY",
        help="Sign the reports and statements that are downloaded with this private Ed25519 key, OpenSSH or PEM. The "
        f"passphrase is asked for, or that in {PASSPHRASE}.",
    ),
]
SparkStartFlag = Annotated[
    bool,
    typer.Option("--spark-start", help="Start Spark with the server, not when someone first opens a tab of rows."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(serve)
    app.command("demo")(demo)


def serve(
    roots: Annotated[
        list[str], typer.Argument(metavar="ROOT", help="Folders that hold Delta tables.", show_default=False)
    ],
    port: PortOption = None,
    address: Annotated[
        str, typer.Option("--address", metavar="HOST", help="Where to listen; the default is this machine alone.")
    ] = "127.0.0.1",
    basic_auth: Annotated[
        Path | None,
        typer.Option(
            "--basic-auth", metavar="FILE", help='Ask for a name and password from FILE: {"name": "password"}.'
        ),
    ] = None,
    *,
    allow_commits: AllowCommitsFlag = False,
    spark: SparkOption = None,
    spark_start: SparkStartFlag = False,
    clients: ClientsOption = None,
    sign: SignOption = None,
    json: JsonFlag = False,
) -> None:
    """Serve the tables under some folders in the browser, until interrupted.

    With --allow-commits or --sign on an address that other machines reach, --basic-auth is required.

    JSON, one document once it is ready: url, roots.
    """
    use_spark(spark)
    use_clients(clients)
    facts = {"roots": roots}
    _serve(
        roots, port, address, basic_auth, facts, allow_commits=allow_commits, spark_start=spark_start, as_json=json,
        key=signing_key(sign),
    )  # fmt: skip


def demo(
    port: PortOption = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="The folder of the demo tables; else the one that DELTA_DEMO names, or one in the user's data folder.",
        ),
    ] = None,
    *,
    allow_commits: AllowCommitsFlag = False,
    spark_start: SparkStartFlag = False,
    json: JsonFlag = False,
) -> None:
    """Build the demo tables if they are absent, and serve them.

    JSON, one document once it is ready: url, folder, built (true if this call built the tables).
    """
    _require_web()
    from explorer.demo import default_folder, ensure_warehouse
    from explorer.web.serving.ports import check_port

    if port is not None:
        check_port(port)  # before the tables are built
    place = (folder or default_folder()).expanduser().absolute()
    with patience("Building the demo tables"):
        built = ensure_warehouse(place)
    if not json:
        note(f"{'Built the demo tables in' if built else 'The demo tables are in'} {place}")
    facts = {"folder": str(place), "built": built}
    _serve(
        [str(place)], port, "127.0.0.1", None, facts, allow_commits=allow_commits, spark_start=spark_start, as_json=json
    )


def _serve(
    roots: list[str],
    port: int | None,
    address: str,
    basic_auth: Path | None,
    facts: dict[str, Any],
    *,
    allow_commits: bool,
    spark_start: bool,
    as_json: bool,
    key: SigningKey | None = None,
) -> None:
    _require_web()
    quiet_handlers()
    users = None if basic_auth is None else _checked(basic_auth)
    from explorer.web import serve as serve_pages

    def ready(url: str) -> None:
        if as_json:
            emit({"url": url, **facts})
        else:
            typer.echo(f"Delta Table Explorer is at {url}")
            note("Ctrl-C stops it.")
        typer.get_text_stream("stdout").flush()

    served = partial(
        serve_pages,
        roots=roots,
        address=address,
        basic_auth=users,
        allow_commits=allow_commits,
        spark_start=spark_start,
        key=key,
        ready=ready,
    )
    try:
        served(port=port if port is not None else _usual_port(address))
    except RequestError as error:
        if port is not None or error.field != "port":
            raise
        # Another program took the usual port in the meantime.
        served(port=0)


def _require_web() -> None:
    if importlib.util.find_spec("panel") is None:
        raise EngineUnavailable(
            f"The pages need the package panel, which is not installed. To get it: {_INSTALL}. "
            "All other commands work without it.",
            engine="panel",
            install=_INSTALL,
        )


def _usual_port(address: str) -> int:
    """The usual port if it is free, else 0, which takes any."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, DEFAULT_PORT))
        except OSError:
            return 0
    return DEFAULT_PORT


def _checked(file: Path) -> str:
    """The file of names and passwords, known to be one: a wrong path must not become the password."""
    try:
        users = json_module.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RequestError(f"The file of users {file} cannot be read: {error}.", path=str(file)) from error
    if not isinstance(users, dict) or not users or not all(isinstance(word, str) for word in users.values()):
        raise RequestError(
            f'The file {file} must hold a JSON object of names and passwords, {{"ana": "secret"}}.', path=str(file)
        )
    return str(file)
