"""``serve`` and ``demo``: the explorer in a browser."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from explorer.cli.arguments import ClientsOption, JsonFlag, SparkOption, use_clients, use_spark
from explorer.cli.output import emit, note, patience
from explorer.cli.report_files import PASSPHRASE, signing_key
from explorer.core.errors import EngineUnavailable, RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.debug import quiet_handlers
from explorer.storage.schemes import spellings
from explorer.storage.served_roots import MOST_TABLES

if TYPE_CHECKING:
    from explorer.report.signature import SigningKey

DEFAULT_PORT: Final = 5007
_INSTALL: Final = 'pip install "delta-table-explorer[web]"'

PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=1,
        max=65535,
        help=f"TCP port (default: {DEFAULT_PORT}, or a free port if it is in use).",
    ),
]

AllowCommitsFlag = Annotated[
    bool,
    typer.Option(
        "--allow-commits",
        help="Allow commits from the web UI (default: read-only).",
    ),
]


TrustedProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="Address or network of a proxy whose X-Forwarded headers are believed, for example 10.0.0.5 (default: "
        "this machine, with --public-url). Repeatable.",
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
MostTablesOption = Annotated[
    int,
    typer.Option("--most-tables", metavar="N", min=1, help="Number of tables that are listed under a root."),
]
SparkStartFlag = Annotated[
    bool,
    typer.Option("--spark-start", help="Start Spark when the server starts (default: when a tab first needs it)."),
]


class ServerReady(JsonRecord, frozen=True, kw_only=True):
    """The server is ready: its address, and the folders that it serves."""

    url: str
    roots: tuple[str, ...]


class ServedDemo(JsonRecord, frozen=True, kw_only=True):
    """The server of the demo tables is ready: ``built`` is true if this call built them."""

    url: str
    folder: str
    built: bool


class UserSaved(JsonRecord, frozen=True, kw_only=True):
    """A user was saved in a password file, or removed from it."""

    file: str
    name: str
    removed: bool


def serve(
    roots: Annotated[
        list[str],
        typer.Argument(
            metavar="ROOT",
            help="Tables, or places that contain tables, at any depth: folders, "
            f"{spellings(persistent=True)} URLs, or uc://[CATALOG[.SCHEMA]].",
            show_default=False,
        ),
    ],
    port: PortOption = None,
    address: Annotated[
        str, typer.Option("--address", metavar="HOST", help="Address to listen on (default: this machine only).")
    ] = "127.0.0.1",
    basic_auth: Annotated[
        Path | None,
        typer.Option(
            "--basic-auth",
            metavar="FILE",
            help="Ask visitors to sign in with a name and a password of FILE, which `delta-explorer passwd` writes.",
        ),
    ] = None,
    public_url: Annotated[
        list[str] | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="Address under which people reach the server through a proxy, for example https://example.org/lake/. "
            "Repeatable.",
        ),
    ] = None,
    *,
    trusted_proxy: TrustedProxyOption = None,
    allow_commits: AllowCommitsFlag = False,
    spark: SparkOption = None,
    spark_start: SparkStartFlag = False,
    most_tables: MostTablesOption = MOST_TABLES,
    clients: ClientsOption = None,
    sign: SignOption = None,
    json: JsonFlag = False,
) -> None:
    """Serve the tables under some folders, or under URLs of object stores, in the browser, until interrupted.

    With --allow-commits or --sign on an address that other machines reach, --basic-auth is required. On this machine
    alone, the URL then contains a token that opens the pages in one browser, once; the URL for another browser is
    printed after that.
    """
    use_spark(spark)
    use_clients(clients)
    _serve(
        roots, port, address, basic_auth, lambda url: ServerReady(url=url, roots=tuple(roots)),
        allow_commits=allow_commits, spark_start=spark_start, as_json=json, most_tables=most_tables,
        key=signing_key(sign), public_urls=tuple(public_url or ()), trusted_proxies=tuple(trusted_proxy or ()),
    )  # fmt: skip


def demo(
    port: PortOption = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Folder of the demo tables "
            "(default: the one that DELTA_DEMO names, otherwise one in the user's data folder).",
        ),
    ] = None,
    *,
    allow_commits: AllowCommitsFlag = False,
    spark_start: SparkStartFlag = False,
    json: JsonFlag = False,
) -> None:
    """Build the demo tables if they do not exist, and serve them."""
    _require_web()
    from explorer.demo import default_folder, ensure_warehouse
    from explorer.web.serving.listener import check_port

    if port is not None:
        check_port(port)  # before the tables are built
    place = (folder or default_folder()).expanduser().absolute()
    with patience("Building the demo tables"):
        built = ensure_warehouse(place)
    if not json:
        note(f"{'Built the demo tables in' if built else 'The demo tables are in'} {place}")
    _serve(
        [str(place)], port, "127.0.0.1", None, lambda url: ServedDemo(url=url, folder=str(place), built=built),
        allow_commits=allow_commits, spark_start=spark_start, as_json=json,
    )  # fmt: skip


def passwd(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The password file; it is created if it does not exist.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person.")],
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the person instead.")] = False,
    json: JsonFlag = False,
) -> None:
    """Set the password of a person who signs in to the pages.

    The password is asked for twice, or read as one line from standard input if that is no terminal. FILE contains
    hashes (argon2) and is readable for its owner alone. A running server notices the change.
    """
    _require_web()
    from explorer.web.serving.people.password_file import remove_user, write_user

    if remove:
        remove_user(file, name)
    else:
        write_user(file, name, _asked_password())
    if json:
        emit(UserSaved(file=str(file), name=name, removed=remove))
    else:
        note(f"Removed {name} from {file}." if remove else f"Saved the password of {name} in {file}.")


def _asked_password() -> str:
    """Return the password that a person types twice at the terminal, or that a program writes."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password: str = typer.prompt("Password", hide_input=True, err=True)
    if typer.prompt("The same again", hide_input=True, err=True) != password:
        raise RequestError("The two passwords differ. Nothing was saved; run the command again.", field="password")
    return password


def _serve(
    roots: list[str],
    port: int | None,
    address: str,
    basic_auth: Path | None,
    document: Callable[[str], msgspec.Struct],
    *,
    allow_commits: bool,
    spark_start: bool,
    as_json: bool,
    most_tables: int = MOST_TABLES,
    key: SigningKey | None = None,
    public_urls: tuple[str, ...] = (),
    trusted_proxies: tuple[str, ...] = (),
) -> None:
    _require_web()
    quiet_handlers()
    from explorer.web import serve as serve_pages

    def ready(url: str) -> None:
        if as_json:
            emit(document(url))
        else:
            typer.echo(f"Delta Table Explorer is at {url}")
            note("Ctrl-C stops it.")
        typer.get_text_stream("stdout").flush()

    served = partial(
        serve_pages,
        roots=roots,
        address=address,
        basic_auth=basic_auth,
        public_urls=public_urls,
        trusted_proxies=trusted_proxies,
        allow_commits=allow_commits,
        spark_start=spark_start,
        most_tables=most_tables,
        key=key,
        ready=ready,
        renewed=lambda url: note(f"For another browser: {url}"),
    )
    try:
        served(port=port if port is not None else _usual_port(address))
    except RequestError as error:
        if port is not None or error.field != "port":
            raise
        # Another program took the usual port in the meantime.
        served(port=0)


def _require_web() -> None:
    absent = next((name for name in ("panel", "argon2") if importlib.util.find_spec(name) is None), None)
    if absent is not None:
        raise EngineUnavailable(
            f"The pages need the package {absent}, which is not installed. To get it: {_INSTALL}. "
            "All other commands work without it.",
            engine=absent,
            install=_INSTALL,
        )


def _usual_port(address: str) -> int:
    """Return the usual port if it is free, else 0, which takes any."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, DEFAULT_PORT))
        except OSError:
            return 0
    return DEFAULT_PORT
