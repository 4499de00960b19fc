"""``config`` and ``cache``: what settings come to, and what is cached between runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag
from explorer.cli.in_force import in_force
from explorer.cli.output import emit, listing, note
from explorer.configuration.in_force import catalog_in_force, variable_text
from explorer.configuration.key_lines import Key, spelled
from explorer.configuration.reading import ConfigurationFile, read_configuration
from explorer.configuration.records import SECRETS, VARIABLES, Configuration, Notices
from explorer.core.errors import InvalidConfiguration, RequestError, StorageError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import from_milliseconds
from explorer.credentials import HIDDEN, secrets_of, without_credentials
from explorer.storage.index_folder import IndexFile, user_indexes
from explorer.storage.served_root import ServedRoot, options_of_root
from explorer.variables import CACHE_VARIABLE, OFF
from explorer.version import VERSION

if TYPE_CHECKING:
    from explorer.storage.served_roots import ServedRoots

ActionArgument = Annotated[
    Literal["check"], typer.Argument(metavar="[check]", help="Check the configuration, and print what is in force.")
]
_OTHERS: Final = 0o077


class SettingLine(JsonRecord, frozen=True, kw_only=True):
    """A setting in force.

    Attributes:
        key: As it is written in the file, tables in a list numbered from 1.
        value: A number, a text, a list, or null; of a secret ``***``.
        source: ``file``, ``environment``, or ``default``.
        line: Its line in the file; null if it is not from there.
        variable: The environment variable that precedes the file; null if it has none.
    """

    key: str
    value: str | int | float | bool | tuple[str | tuple[str, ...], ...] | None
    source: Literal["file", "environment", "default"]
    line: int | None
    variable: str | None


class ConfigDocument(JsonRecord, frozen=True, kw_only=True):
    """The settings in force; ``file`` is null if there is no configuration file."""

    file: str | None
    settings: tuple[SettingLine, ...]


def config(action: ActionArgument = "check", json: JsonFlag = False) -> None:
    """Check the configuration file, and print the settings in force and where each comes from; secrets are hidden.

    An unknown key, a value of a wrong type, a root or a table of a role that does not exist, an option that its store
    does not know, or a channel of notices that cannot be used is an error that names the file, the line, and the key.
    No store and no channel is contacted.
    """
    del action
    given = in_force()
    file = read_configuration(given.path, lines=True) if given.path else given
    _check_roots(file)
    _check_roles(file)
    _check_people(file)
    _check_notices(file)
    settings = tuple(_settings(file))
    if json:
        emit(ConfigDocument(file=file.path, settings=settings))
        return
    note(f"The configuration is {file.path}." if file.path else "There is no configuration file.")
    listing(["key", "value", "from"], [(each.key, _shown(each), _source(each)) for each in settings], "No settings.")
    if file.path and _holds_secrets(file.values) and os.stat(file.path).st_mode & _OTHERS:
        note(f"Warning: {file.path} holds secrets, and other users can read it. Run: chmod 600 {file.path}")


def _check_roots(file: ConfigurationFile) -> None:
    """Check that roots exist and that stores know their options; nothing is requested.

    Raises:
        InvalidConfiguration: One does not.
    """
    from explorer.catalogs.folders import open_tree

    for place, root in enumerate(file.values.roots):
        key: Key = ("roots", place, "place")
        try:
            if ":/" in root.place:
                open_tree(ServedRoot(root.place, storage_options=options_of_root(root)))
            elif not Path(root.place).is_dir():
                raise RequestError(f"The root {root.place} is not a folder. Give a folder that exists.")
        except RequestError as error:
            line = file.lines.get(key)
            raise InvalidConfiguration(
                f"{file.path}, line {line}: {spelled(key)}: {error.message}",
                path=file.path,
                line=line,
                field=spelled(key),
            ) from error


def _check_roles(file: ConfigurationFile) -> None:
    """Check that the tables of roles are in the configured roots.

    Raises:
        InvalidConfiguration: One is not; the nearest name is given.
    """
    values = file.values
    if not values.roles or not values.roots:
        return
    from explorer.catalogs.folders import served_roots
    from explorer.storage.served_root import configured_roots

    roots = served_roots(configured_roots())
    for place, role in enumerate(values.roles):
        for name in role.tables:
            try:
                _check_place(name, roots)
            except RequestError as error:
                raise _at_key(file, ("roles", place, "tables"), error.message, error) from error


def _check_place(name: str, roots: ServedRoots) -> None:
    """Check that a table, a folder, or a root is there; of a store, its root alone, as nothing is requested."""
    from explorer.storage.served_roots import missing_folder, named_place

    try:
        ref = named_place(name, roots, "tables")
    except RequestError as error:
        raise error.with_facts(message=error.message.removeprefix("tables: ")) from error
    if (missing := missing_folder(ref)) is not None:
        folder, part, near = missing
        hint = f"Did you mean {near}?" if near else "Correct it, or make the folder."
        raise RequestError(f"{name!r}: {folder} has no folder {part!r}. {hint}", nearest=near)


def _check_notices(file: ConfigurationFile) -> None:
    """Check the channels and the rules of notices; nothing is sent.

    Raises:
        InvalidConfiguration: One does not fit.
    """
    values = file.values
    if not values.webhooks and not values.mail.host and values.notices == Notices():
        return
    from explorer.core.protocol.times import period
    from explorer.notices.settings import checked_channels, sending_rules

    try:
        checked_channels(values)
        sending_rules(values)
        period(values.notices.every, "notices.every")
    except RequestError as error:
        given = error.field or ""
        # A key that is missing has the line of its table.
        key = next((key for key in file.lines if spelled(key) == given), tuple(given.split(".")))
        raise _at_key(file, key, error.message, error) from error


def _at_key(file: ConfigurationFile, key: Key, what: str, error: RequestError) -> InvalidConfiguration:
    """Return an error that names the line and the key."""
    line = next((file.lines[key[:depth]] for depth in range(len(key), 0, -1) if key[:depth] in file.lines), None)
    return InvalidConfiguration(
        f"{file.path}{f', line {line}' if line else ''}: {f'{spelled(key)}: ' if key else ''}{what}",
        path=file.path,
        line=line,
        field=spelled(key) or error.field,
        nearest=error.nearest,
    )


def _check_people(file: ConfigurationFile) -> None:
    """Check that roles and rules for a second person fit the roots; a typo in one would give or protect nothing.

    Raises:
        InvalidConfiguration: One does not.
    """
    if not (file.values.roles or file.values.two_people):
        return
    from explorer.cli.two_people import check_people

    try:
        check_people()
    except RequestError as error:
        message = f"{file.path}: {error.message}"
        raise InvalidConfiguration(message, path=file.path, field=error.field) from error


def _settings(file: ConfigurationFile) -> Iterator[SettingLine]:
    """Yield every setting."""
    counting = msgspec.structs.replace(file.values, unity_catalog=catalog_in_force(file.values.unity_catalog))
    for key, value in _leaves(counting, ()):
        variable = VARIABLES.get(key)
        if key == ("cache", "enabled"):
            variable = CACHE_VARIABLE if os.environ.get(CACHE_VARIABLE, "").lower() == "off" else None
        line = None if _yields(file.values, key, value) else file.lines.get(key)
        if variable and (named := os.environ.get(variable)) and not _is_from(value, named):
            yield SettingLine(
                key=spelled(key), value=_harmless(key, named), source="environment", line=None, variable=variable
            )
            continue
        yield SettingLine(
            key=spelled(key),
            value=_harmless(key, value),
            source="default" if line is None else "file",
            line=line,
            variable=variable,
        )


def _yields(values: Configuration, key: Key, value: object) -> bool:
    """Return whether a key of the file does not count, as the environment names another catalog or sign-in."""
    return key[0] == "unity_catalog" and getattr(values.unity_catalog, str(key[-1])) != value


def _is_from(value: object, named: str) -> bool:
    """Return whether a variable has its value from the file, which is in force while this command runs."""
    return named == (OFF if value is False else variable_text(value))


def _leaves(value: Any, key: Key) -> Iterator[tuple[Key, Any]]:
    """Yield the settings of a record, those of free tables each by itself."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, (*key, name))
    elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        for place, each in enumerate(value):
            yield from _leaves(each, (*key, place))
    else:
        yield key, value


def _harmless(key: Key, value: Any) -> Any:
    """Return a value as it may be shown."""
    if isinstance(value, tuple):
        return tuple(_harmless(key, each) for each in value)
    if not isinstance(value, str):
        return value
    if key in SECRETS or (key[0] == "webhooks" and key[-1] == "url"):
        return HIDDEN
    free = "storage_options" in key or "conf" in key
    hidden = free and bool(secrets_of({str(key[-1]): value}))
    return HIDDEN if hidden else without_credentials(value)


def _holds_secrets(values: Configuration) -> bool:
    return any(_harmless(key, value) != value for key, value in _leaves(values, ()))


def _shown(setting: SettingLine) -> str:
    match setting.value:
        case None | ():
            return "not set"
        case bool():
            return str(setting.value).lower()
        case tuple():
            return ", ".join(each if isinstance(each, str) else f"[{', '.join(each)}]" for each in setting.value)
        case _:
            return str(setting.value)


def _source(setting: SettingLine) -> str:
    if setting.source == "file":
        return f"line {setting.line}"
    return setting.variable or "" if setting.source == "environment" else "default"


CacheAction = Annotated[
    Literal["list", "clear"], typer.Argument(metavar="[list|clear]", help="List the cached tables, or remove them.")
]


class CacheLine(JsonRecord, frozen=True, kw_only=True):
    """A cached log, the most recently used first.

    Attributes:
        table: Null if the file is damaged, or of another version of this program.
        last_used: ms since the epoch.
    """

    table: str | None
    size_in_bytes: int
    last_used: int


def cache(action: CacheAction = "list", json: JsonFlag = False) -> None:
    """List or clear the cache of table logs, which lets the next run read only new commits.

    The cache is in your cache folder, or in the folder of the variable DELTA_EXPLORER_CACHE; the value `off`, or
    --no-cache, disables it. You lose nothing by clearing it: the next run reads the logs in full.
    """
    indexes = user_indexes(VERSION)
    if indexes is None:
        if not json:
            note(f"The cache is disabled: {CACHE_VARIABLE} is off.")
        return
    try:
        files = indexes.files() if action == "list" else indexes.clear()
    except OSError as error:
        raise StorageError(
            f"Cannot clear {indexes.folder}: {error.strerror or error}. Remove the folder.", path=str(indexes.folder)
        ) from error
    if json:
        for file in files:
            emit(CacheLine(table=file.location, size_in_bytes=file.size, last_used=file.used))
        return
    listing(
        ["table", "size", "last used"], map(_row, files), f"The cache in {indexes.folder} is empty.", numbers=("size",)
    )
    if files:
        verb = "are kept" if action == "list" else "were removed"
        size = fmt.size(sum(file.size for file in files))
        note(f"{size} of {fmt.plural(len(files), 'table')} {verb} in {indexes.folder}.")


def _row(file: IndexFile) -> tuple[str, str, str]:
    return file.location or fmt.UNKNOWN, fmt.size(file.size), fmt.timestamp(from_milliseconds(file.used))
