"""``serve`` and ``demo``: the explorer in a browser."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from explorer.activity.place import activity_place
from explorer.cli.arguments import (
    ClientsOption,
    JsonFlag,
    SparkConfOption,
    SparkOption,
    grouped,
    use_clients,
    use_spark,
)
from explorer.cli.in_force import in_force, roots_of
from explorer.cli.output import emit, note, patience
from explorer.cli.report_files import PASSPHRASE, signing_key
from explorer.cli.tables import location_of
from explorer.configuration.records import Limits, Serve
from explorer.core.errors import EngineUnavailable, RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.debug import quiet_handlers
from explorer.storage.schemes import spellings
from explorer.storage.served_root import GivenRoots
from explorer.storage.served_roots import MOST_TABLES
from explorer.variables import OIDC_SECRET_VARIABLE

if TYPE_CHECKING:
    from explorer.web.notice_board import ServedNotices
    from explorer.web.serving.people.oidc.settings import OidcSettings
    from explorer.web.serving.people.proxy_login import ProxyLogin

DEFAULT_PORT: Final = 5007
_INSTALL_OIDC: Final = 'pip install "delta-table-explorer[oidc]"'
_INSTALL: Final = 'pip install "delta-table-explorer[web]"'

RootsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ROOT]...",
        help=f"Tables, or places that contain tables, at any depth: folders, {spellings(persistent=True)} URLs, "
        "uc://[CATALOG[.SCHEMA]], or names in the catalog of Spark (default: the roots of the configuration).",
        show_default=False,
    ),
]
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
    bool | None,
    typer.Option(
        "--allow-commits/--no-allow-commits",
        help="Allow commits from the web UI (default: read-only).",
        show_default=False,
    ),
]
SparkStartFlag = Annotated[
    bool | None,
    typer.Option(
        "--spark-start/--no-spark-start",
        help="Start Spark when the server starts (default: when a tab first needs it).",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ServeFlags:
    """The flags of ``serve`` that have a key of the same name in the configuration; None where one is not given."""

    port: PortOption = None
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="HOST", help="Address to listen on (default: 127.0.0.1, only this machine)."),
    ] = None
    basic_auth: Annotated[
        Path | None,
        typer.Option(
            "--basic-auth",
            metavar="FILE",
            help="Ask visitors to sign in with a name and a password of FILE, which `delta-explorer passwd` writes.",
        ),
    ] = None
    public_url: Annotated[
        list[str] | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="Address under which people reach the server through a proxy, for example https://example.org/lake/. "
            "Repeatable.",
        ),
    ] = None
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="Address or network of a proxy whose X-Forwarded headers are believed, for example 10.0.0.5 (default: "
            "this machine, with --public-url). Repeatable.",
        ),
    ] = None
    allow_commits: AllowCommitsFlag = None
    spark_start: SparkStartFlag = None
    most_tables: Annotated[
        int | None,
        typer.Option(
            "--most-tables",
            metavar="N",
            min=1,
            help=f"Number of tables that are listed under a root (default: {MOST_TABLES:,}).",
        ),
    ] = None
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign",
            metavar="KEY",
            help="Sign the reports and statements that are downloaded with this private Ed25519 key, OpenSSH or PEM. "
            f"The passphrase is that in {PASSPHRASE}, or you are asked for it.",
        ),
    ] = None
    activity: Annotated[
        Path | None,
        typer.Option(
            "--activity",
            metavar="RECORD",
            help="File or folder of the record of who does what; `off` writes none (default: one in the user's data "
            "folder if visitors sign in or changes can be committed, otherwise none).",
        ),
    ] = None

    def over(self, values: Serve) -> Serve:
        """Return the values of the configuration with the given flags in place of theirs."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return msgspec.structs.replace(
            values, **{name: value for name, value in given.items() if value not in (None, [])}
        )


@dataclass(frozen=True, slots=True)
class LimitFlags:
    """The flags of ``serve`` that have a key of the same name in ``[limits]``; None where one is not given."""

    pages_per_person: Annotated[
        int | None,
        typer.Option(
            "--pages-per-person", metavar="N", min=1, help="Pages that a person may have open (default: 100)."
        ),
    ] = None
    jobs_per_person: Annotated[
        int | None,
        typer.Option(
            "--jobs-per-person",
            metavar="N",
            min=1,
            help="Jobs of a person that run on Spark or wait for it (default: 10).",
        ),
    ] = None
    exports_per_person: Annotated[
        int | None,
        typer.Option(
            "--exports-per-person",
            metavar="N",
            min=1,
            help="Exports that are made for a person at once (default: 4).",
        ),
    ] = None
    spark_jobs: Annotated[
        int | None,
        typer.Option(
            "--spark-jobs", metavar="N", min=1, help="Jobs of all people that run on Spark at once (default: 4)."
        ),
    ] = None

    def over(self, values: Limits) -> Limits:
        """Return the values of the configuration with the given flags in place of theirs."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return msgspec.structs.replace(values, **{name: value for name, value in given.items() if value is not None})


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


@grouped
def serve(
    roots: RootsArgument = None,
    *,
    flags: ServeFlags,
    limits: LimitFlags,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    clients: ClientsOption = None,
    json: JsonFlag = False,
) -> int:
    """Serve the tables under some folders, or under URLs of object stores, in the browser, until interrupted.

    With --allow-commits or --sign on an address that other machines reach, --basic-auth is required. On this machine
    alone, the URL then contains a token that opens the pages in one browser, once; the URL for another browser is
    printed after that.
    """
    use_spark(spark, spark_conf)
    use_clients(clients)
    served = roots_of(None if roots is None else list(map(location_of, roots)), "ROOT")
    places = tuple(roots or (root.place for root in served))
    _serve(
        served,
        flags.over(in_force().values.serve),
        lambda url: ServerReady(url=url, roots=places),
        limits=limits.over(in_force().values.limits),
        as_json=json,
    )
    return 0


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
    allow_commits: AllowCommitsFlag = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    spark_start: SparkStartFlag = None,
    json: JsonFlag = False,
) -> None:
    """Build the demo tables if they do not exist, and serve them."""
    _require_web()
    use_spark(spark, spark_conf)
    from explorer.demo import default_folder, ensure_warehouse
    from explorer.web.serving.listener import check_port

    if port is not None:
        check_port(port)  # before the tables are built
    place = (folder or default_folder()).expanduser().absolute()
    with patience("Building the demo tables"):
        built = ensure_warehouse(place)
    if not json:
        note(f"{'Built the demo tables in' if built else 'The demo tables are in'} {place}")
    settings = Serve(port=port, allow_commits=bool(allow_commits), spark_start=bool(spark_start))
    _serve(
        [str(place)],
        settings,
        lambda url: ServedDemo(url=url, folder=str(place), built=built),
        as_json=json,
        people=False,
    )


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

    The password is asked for twice, or read as one line from standard input if that is not a terminal. FILE contains
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
    roots: GivenRoots,
    settings: Serve,
    document: Callable[[str], msgspec.Struct],
    *,
    limits: Limits | None = None,
    as_json: bool,
    people: bool = True,
) -> None:
    _require_web()
    quiet_handlers()
    from explorer.cli.two_people import configured_roles, given_approvals
    from explorer.web import serve as serve_pages
    from explorer.web.limits import PersonLimits

    def ready(url: str) -> None:
        if as_json:
            emit(document(url))
        else:
            typer.echo(f"Delta Table Explorer is at {url}")
            note("Ctrl-C stops it.")
        typer.get_text_stream("stdout").flush()

    oidc, proxy_login = (_oidc(), _proxy_login()) if people else (None, None)
    roles = configured_roles() if people else ()
    logins = settings.basic_auth is not None or oidc is not None or proxy_login is not None
    served = partial(
        serve_pages,
        roots=roots,
        address=settings.address,
        basic_auth=settings.basic_auth,
        public_urls=settings.public_url,
        trusted_proxies=settings.trusted_proxy,
        allow_commits=settings.allow_commits,
        spark_start=settings.spark_start,
        most_tables=settings.most_tables or MOST_TABLES,
        activity=activity_place(settings.activity, default=settings.allow_commits or logins),
        oidc=oidc,
        proxy_login=proxy_login,
        roles=roles,
        contact=in_force().values.contact,
        limits=PersonLimits.of(limits or in_force().values.limits),
        notices=_notices() if people else None,
        approvals=given_approvals() if people else None,
        key=signing_key(None if settings.sign is None else Path(settings.sign)),
        ready=ready,
        renewed=lambda url: note(f"For another browser: {url}"),
    )
    try:
        served(port=settings.port or _usual_port(settings.address))
    except RequestError as error:
        if settings.port is not None or error.field != "port":
            raise
        # Another program took the usual port in the meantime.
        served(port=0)


def _notices() -> ServedNotices | None:
    """Return the notices of the configuration, or those that `tripwires --watch` posted; None without either."""
    from explorer.cli.notice_desk import notice_sender, used_book
    from explorer.notices.settings import checked_channels
    from explorer.web.notice_board import ServedNotices

    book, values = used_book(), in_force().values
    if book is None:
        return None
    sender = partial(notice_sender, book) if checked_channels(values) else None
    return ServedNotices(book, sender, values.notices.zone)


def _oidc() -> OidcSettings | None:
    """Return the issuer of the configuration; None if it names none."""
    given = in_force().values.oidc
    if not given.issuer:
        return None
    if importlib.util.find_spec("jwt") is None:
        raise EngineUnavailable(
            f"Single sign-on needs the package pyjwt, which is not installed. To get it: {_INSTALL_OIDC}",
            engine="pyjwt",
            install=_INSTALL_OIDC,
        )
    from explorer.web.serving.people.oidc.settings import OidcSettings

    return OidcSettings(
        issuer=given.issuer,
        client_id=given.client_id,
        client_secret=_client_secret(given.client_secret_file),
        scopes=given.scopes,
        name_claim=given.name_claim,
        group_claim=given.group_claim,
        session_hours=given.session_hours,
    )


def _client_secret(place: str | None) -> str:
    if place is None:
        return os.environ.get(OIDC_SECRET_VARIABLE, "")
    path = Path(place)
    try:
        if path.stat().st_mode & 0o077:
            raise RequestError(
                f"Other users of this machine can open the secret in {path}. Run: chmod 600 {path}", path=str(path)
            )
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"The secret of single sign-on in {path} cannot be read. Check oidc.client_secret_file.", path=str(path)
        ) from error


def _proxy_login() -> ProxyLogin | None:
    """Return the headers of the configuration; None if it names none."""
    given = in_force().values.proxy_login
    if not given.user_header:
        return None
    from explorer.web.serving.people.proxy_login import ProxyLogin

    return ProxyLogin(given.user_header, given.groups_header)


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
