"""The tables and keys of the configuration file. A key of ``[serve]`` has the name of the flag of ``serve``."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from explorer.core.protocol.limits import CHECKPOINT_VARIABLE, DECODED_VARIABLE, STRICT_VARIABLE
from explorer.debug import DEBUG_VARIABLE
from explorer.variables import (
    ACTIVITY_VARIABLE,
    ANALYSIS_VARIABLE,
    CACHE_VARIABLE,
    CLIENTS_VARIABLE,
    MASTER_VARIABLE,
    NOTICES_VARIABLE,
    UNITY_VARIABLES,
    WORK_VARIABLE,
)

Setting: TypeAlias = str | int | float | bool
"""A value of a storage option or a setting of Spark."""
Port: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Days: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=366)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file. Values may be secrets, so they are in no text of it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class Root(_Table, frozen=True):
    """``[[roots]]``: a place that holds tables, or a table.

    Attributes:
        place: A folder, or a URL of a store.
        name: What the names of its tables begin with; by default the last part of the place.
        storage_options: Options of its store.
    """

    place: str
    name: str = ""
    storage_options: dict[str, Setting] = {}


class Serve(_Table, frozen=True):
    """``[serve]``: the flags of ``delta-explorer serve``."""

    port: Port | None = None
    address: str = "127.0.0.1"
    basic_auth: str | None = None
    public_url: tuple[str, ...] = ()
    trusted_proxy: tuple[str, ...] = ()
    allow_commits: bool = False
    spark_start: bool = False
    most_tables: Count | None = None
    sign: str | None = None
    activity: str | None = None


class Oidc(_Table, frozen=True):
    """``[oidc]``: visitors sign in at an issuer of OpenID Connect, if one is named.

    Attributes:
        issuer: Its URL, exactly as its tokens name it.
        client_id: The name of this server there.
        client_secret_file: The file that holds the secret of this server; a variable may hold it instead.
        scopes: What is asked for, besides ``openid``.
        name_claim: The claim that holds a person's name.
        group_claim: The claim that holds the person's groups.
        session_hours: After how many hours a person signs in again.
    """

    issuer: str = ""
    client_id: str = ""
    client_secret_file: str | None = None
    scopes: tuple[str, ...] = ("profile",)
    name_claim: str = "preferred_username"
    group_claim: str = "groups"
    session_hours: Seconds = 8.0


class ProxyLoginKeys(_Table, frozen=True):
    """``[proxy_login]``: the proxies of ``serve.trusted_proxy`` sign visitors in, if a header is named.

    Attributes:
        user_header: The header that holds a person's name.
        groups_header: The header that holds the person's groups, separated by commas.
    """

    user_header: str = ""
    groups_header: str = ""


class Role(_Table, frozen=True):
    """``[[roles]]``: a role, and who has it on which tables. With one of them, what is not given is not allowed.

    Attributes:
        role: What it allows.
        people: Names; ``*`` is everyone who may open the server.
        groups: Names of groups, as the sign-in service or the proxy names them.
        tables: Names of tables, folders, or roots, as on the list of tables; without, all.
    """

    role: Literal["viewer", "committer", "approver", "auditor", "admin"]
    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


class Notices(_Table, frozen=True):
    """``[notices]``: what is watched, where notices are kept, and when they are sent.

    Attributes:
        folder: Where they are kept; ``off`` keeps none.
        rules: The file of tripwires of ``tripwires --watch``.
        every: How often tables are looked at.
        quiet, zone: Hours in which notices wait, and their time zone; empty for none.
        urgent: The severity from which they do not.
        remind: After which interval an open notice is sent again; without it never.
        tries: How often a message is tried.
    """

    folder: str | None = None
    rules: str | None = None
    every: str = "1 minute"
    quiet: str = ""
    zone: str = "UTC"
    urgent: Literal["info", "warning", "error"] = "error"
    remind: str | None = None
    tries: Count = 10


class WebhookKeys(_Table, frozen=True):
    """``[[webhooks]]``: an address that notices are posted to.

    Attributes:
        url: Its address, which is shown nowhere.
        name: Its name in texts.
        secret_file: The file of the secret that signs; a variable may hold it instead.
        allow_http: Send over plain HTTP to another machine.
    """

    url: str
    name: str = ""
    secret_file: str | None = None
    allow_http: bool = False


class MailKeys(_Table, frozen=True):
    """``[mail]``: notices by mail, if a server is named.

    Attributes:
        host, port: The server.
        security: ``starttls``, ``tls``, or ``none``.
        user, password_file: The sign-in; a variable may hold the password instead.
        sender, to: Addresses.
    """

    host: str = ""
    port: Port | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password_file: str | None = None
    sender: str = ""
    to: tuple[str, ...] = ()


class TwoPeople(_Table, frozen=True):
    """``[[two_people]]``: changes that a second person must approve.

    Attributes:
        tables: Names of tables, folders, or roots, as on the list of tables; without, all.
        kinds: Kinds of changes, such as ``vacuum``; without, all.
        commits: Who commits an approved change: its ``maker``, or the program by ``itself``.
    """

    tables: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    commits: Literal["maker", "itself"] = "maker"


class ApprovalKeys(_Table, frozen=True):
    """``[approvals]``: where the requests of ``[[two_people]]`` are, and how long they count.

    Attributes:
        folder: The folder of the requests; by default, one beside the activity record.
        valid_days: For how many days a request can be approved and committed.
        same_person: Names and e-mail addresses of accounts that are of one person, a list each.
    """

    folder: str | None = None
    valid_days: Days = 7.0
    same_person: tuple[tuple[str, ...], ...] = ()


class Spark(_Table, frozen=True):
    """``[spark]``: where Spark runs, and its settings."""

    master: str | None = None
    conf: dict[str, Setting] = {}


class UnityCatalog(_Table, frozen=True):
    """``[unity_catalog]``: the server of tables with names such as ``uc://main.shop.orders``.

    Attributes:
        url: The address of the server. The keys to sign in are sent to this server alone, so they need it.
        token: A bearer token.
        token_file: The file that holds it.
        client_id, client_secret, client_secret_file, oauth_url: OAuth client credentials, in place of a token.
        folders: Folders of this machine in which tables of the catalog may be.
        allow_http: Send credentials over plain HTTP to another machine.
    """

    url: str | None = None
    token: str | None = None
    token_file: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    client_secret_file: str | None = None
    oauth_url: str | None = None
    folders: tuple[str, ...] = ()
    allow_http: bool = False


class AuditKeys(_Table, frozen=True):
    """``[audit]``: how many tables are audited at once."""

    processes: Count | None = None


class Cache(_Table, frozen=True):
    """``[cache]``: the cache of table logs."""

    enabled: bool = True
    folder: str | None = None


class Limits(_Table, frozen=True):
    """``[limits]``: how much of a table is read, and how much of a server one person may have at once.

    Attributes:
        max_checkpoint_bytes, max_decoded_bytes, strict_types: How a log is read.
        pages_per_person: Pages that a person may have open.
        jobs_per_person: Jobs of a person that run on Spark or wait for it.
        exports_per_person: Exports that are made for a person at once.
        spark_jobs: Jobs of all people that run on Spark at once.
    """

    max_checkpoint_bytes: Count | None = None
    max_decoded_bytes: Count | None = None
    strict_types: bool = False
    pages_per_person: Count | None = None
    jobs_per_person: Count | None = None
    exports_per_person: Count | None = None
    spark_jobs: Count | None = None


class Deadlines(_Table, frozen=True):
    """``[deadlines]``: how long work may take."""

    analysis_seconds: Seconds | None = None
    expression_seconds: Seconds | None = None


class Configuration(_Table, frozen=True):
    """The file.

    Attributes:
        clients: The file of the clients in use.
        debug: Show full errors.
        exact_csv: Write cells of CSV files as they are, also those that a spreadsheet runs.
        contact: Whom people ask for rights that they lack.
        storage_options: Options of the stores of places outside of the roots.
    """

    clients: str | None = None
    debug: bool = False
    exact_csv: bool = False
    contact: str = ""
    roots: tuple[Root, ...] = ()
    storage_options: dict[str, Setting] = {}
    serve: Serve = Serve()
    oidc: Oidc = Oidc()
    proxy_login: ProxyLoginKeys = ProxyLoginKeys()
    roles: tuple[Role, ...] = ()
    notices: Notices = Notices()
    webhooks: tuple[WebhookKeys, ...] = ()
    mail: MailKeys = MailKeys()
    two_people: tuple[TwoPeople, ...] = ()
    approvals: ApprovalKeys = ApprovalKeys()
    spark: Spark = Spark()
    unity_catalog: UnityCatalog = UnityCatalog()
    audit: AuditKeys = AuditKeys()
    cache: Cache = Cache()
    limits: Limits = Limits()
    deadlines: Deadlines = Deadlines()


TABLES: Final[dict[str, type[_Table]]] = {
    "": Configuration,
    "roots": Root,
    "serve": Serve,
    "oidc": Oidc,
    "proxy_login": ProxyLoginKeys,
    "roles": Role,
    "notices": Notices,
    "webhooks": WebhookKeys,
    "mail": MailKeys,
    "two_people": TwoPeople,
    "approvals": ApprovalKeys,
    "spark": Spark,
    "unity_catalog": UnityCatalog,
    "audit": AuditKeys,
    "cache": Cache,
    "limits": Limits,
    "deadlines": Deadlines,
}
"""The tables by their names."""
FILES: Final = (
    *(("clients",), ("serve", "basic_auth"), ("serve", "sign"), ("serve", "activity"), ("oidc", "client_secret_file")),
    ("approvals", "folder"),
    *(("unity_catalog", "token_file"), ("unity_catalog", "client_secret_file"), ("unity_catalog", "folders")),
    *(("cache", "folder"), ("notices", "folder"), ("notices", "rules"), ("mail", "password_file")),
)
"""The keys that hold a path, or several; it is relative to the folder of the configuration file."""
SECRETS: Final = frozenset({("unity_catalog", "token"), ("unity_catalog", "client_secret")})
"""The keys whose values are shown nowhere; names of free tables say by themselves whether theirs are."""
SIGN_IN: Final = frozenset(UNITY_VARIABLES) - {"url", "folders", "allow_http"}
"""The keys of ``[unity_catalog]`` that sign in."""
VARIABLES: Final[dict[tuple[str | int, ...], str]] = {
    ("clients",): CLIENTS_VARIABLE,
    ("debug",): DEBUG_VARIABLE,
    ("serve", "activity"): ACTIVITY_VARIABLE,
    ("notices", "folder"): NOTICES_VARIABLE,
    ("spark", "master"): MASTER_VARIABLE,
    **{("unity_catalog", key): variable for key, variable in UNITY_VARIABLES.items()},
    ("cache", "folder"): CACHE_VARIABLE,
    ("limits", "max_checkpoint_bytes"): CHECKPOINT_VARIABLE,
    ("limits", "max_decoded_bytes"): DECODED_VARIABLE,
    ("limits", "strict_types"): STRICT_VARIABLE,
    ("deadlines", "analysis_seconds"): ANALYSIS_VARIABLE,
    ("deadlines", "expression_seconds"): WORK_VARIABLE,
}
"""The environment variable of a key, which precedes it."""
