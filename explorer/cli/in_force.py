"""What a command runs with besides its own options: the configuration file, and the options of stores.

Flags precede environment variables, which precede the file. A key that has an environment variable is put there, so
that processes that this one starts know it too, and is taken back when the command ends.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from explorer.core.errors import RequestError
from explorer.debug import DEBUG_VARIABLE
from explorer.variables import CACHE_VARIABLE, CONFIG_VARIABLE

if TYPE_CHECKING:
    from explorer.configuration.reading import ConfigurationFile
    from explorer.configuration.records import Root
    from explorer.storage.served_root import ServedRoot

_PLACES: Final = frozenset({"table", "tables", "roots"})
_ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help=f"Configuration file (default: the one that {CONFIG_VARIABLE} names, otherwise explorer.toml in the "
        "user's folder of settings).",
    ),
]
_StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="NAME=VALUE",
        help="Option of the object store, for example aws_profile=lake. Others can see a command line: put secrets "
        "into the configuration. Repeatable.",
    ),
]


@dataclass(frozen=True, slots=True)
class InForce:
    """The configuration of a command.

    Attributes:
        file: The configuration file; None if there is none.
        storage_options: Those of the command line.
    """

    file: ConfigurationFile | None
    storage_options: Mapping[str, str] = field(default_factory=dict)


_now: list[InForce] = []


def in_force() -> ConfigurationFile:
    """Return the configuration of the command that runs."""
    if _now and (file := _now[-1].file) is not None:
        return file
    from explorer.configuration.reading import ConfigurationFile

    return ConfigurationFile()


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``--config`` and, if it takes tables, ``--storage-option``, and put them in force."""
    signature = inspect.signature(command, eval_str=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter("config_file", kind, default=None, annotation=_ConfigOption)]
    if not _PLACES.isdisjoint(signature.parameters):
        added.insert(0, inspect.Parameter("storage_option", kind, default=None, annotation=_StorageOption))

    def call(*, config_file: Path | None = None, storage_option: Sequence[str] | None = None, **options: Any) -> Any:
        with _using(config_file, read_options(storage_option or ())):
            return command(**options)

    parameters = [*signature.parameters.values(), *added]
    plain: Any = wraps(command)(call)
    plain.__signature__ = inspect.Signature([each.replace(kind=kind) for each in parameters])
    plain.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def read_options(texts: Sequence[str]) -> dict[str, str]:
    """Return the storage options of texts such as ``aws_profile=lake``.

    Raises:
        RequestError: One is not a name and a value. It may be a secret, so it is not repeated.
    """
    options = dict[str, str]()
    for place, text in enumerate(texts, 1):
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise RequestError(
                f"Storage option {place} is not NAME=VALUE. Give, for example, aws_profile=lake.",
                field="storage_option",
            )
        options[name.strip()] = value
    return options


def options_of(location: str) -> dict[str, str]:
    """Return the storage options of a location: those of the root that it is in, or of all other places.

    Raises:
        RequestError: It is in several roots, and those of the command line do not say which is meant.
    """
    if not _now:
        return {}
    now = _now[-1]
    if now.file is None:
        return dict(now.storage_options)
    root = _root_of(location, now)
    return options_of_root(root) if root is not None else _over(now.file.values.storage_options)


def options_of_root(root: Root) -> dict[str, str]:
    """Return the storage options of a root of the configuration, those of the command line over its own."""
    return _over(root.storage_options)


def roots_of(places: Sequence[str] | None, argument: str) -> list[ServedRoot]:
    """Return the roots that a command names, or those of the configuration if it names none.

    Args:
        places: Folders and URLs.
        argument: The name of the argument, for the error.

    Raises:
        BadParameter: There are none.
        RequestError: `options_of` raises one.
    """
    from explorer.storage.served_root import ServedRoot

    if places:
        return [ServedRoot(place, _name_of(place), options_of(place)) for place in places]
    file = _now[-1].file if _now else None
    if file is None or not file.values.roots:
        raise typer.BadParameter(
            "None is given. Name one, or put it into the configuration as a table [[roots]].", param_hint=argument
        )
    return [ServedRoot(root.place, root.name, options_of_root(root)) for root in file.values.roots]


def spark_settings() -> dict[str, str]:
    """Return the settings of Spark in the configuration."""
    file = _now[-1].file if _now else None
    return {} if file is None else _texts(file.values.spark.conf)


def text_of(value: object) -> str:
    """Return the value of an option as stores and Spark take it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(options: Mapping[str, object]) -> dict[str, str]:
    return {name: text_of(value) for name, value in options.items()}


def _over(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as texts, with those of the command line in place of theirs."""
    return _texts(options) | dict(_now[-1].storage_options)


def _name_of(place: str) -> str:
    """Return the name that the configuration gives to a place; empty if it gives none."""
    from explorer.storage.served_root import parts_of

    root = _root_of(place, _now[-1]) if _now else None
    return root.name if root is not None and parts_of(root.place) == parts_of(place) else ""


def _root_of(location: str, now: InForce) -> Root | None:
    """Return the root of the configuration that a location is in; the innermost, if one is in another.

    Raises:
        RequestError: There are several with other options, as of two servers, and the command line does not say which.
    """
    roots = () if now.file is None else now.file.values.roots
    if not roots:
        return None
    from explorer.storage.served_root import parts_of

    inside: list[Root] = []
    depth = 0
    mine = parts_of(location)
    for root in roots:
        theirs = parts_of(root.place)
        if mine[: len(theirs)] == theirs and len(theirs) >= depth:
            inside, depth = [*(inside if len(theirs) == depth else ()), root], len(theirs)
    meant = [root for root in inside if now.storage_options.items() <= _texts(root.storage_options).items()]
    if inside and any(root.storage_options != inside[0].storage_options for root in inside) and len(meant) != 1:
        names = " and ".join(root.name or "one without a name" for root in inside)
        raise RequestError(
            f"{location} is in several roots of the configuration, each with storage options of its own: {names}. Say "
            "which is meant by an option that only this one has, such as --storage-option aws_endpoint=URL.",
            field="storage_option",
            location=location,
        )
    return next(iter(meant or inside), None)


@contextmanager
def _using(file: Path | None, options: Mapping[str, str]) -> Iterator[None]:
    read = _read(file)
    added = {name: value for name, value in _variables(read).items() if not os.environ.get(name)}
    os.environ.update(added)
    _now.append(InForce(read, options))
    try:
        yield
    finally:
        _now.pop()
        # An error is shown after this; what ends the command takes that variable back.
        for name in set(added) - {DEBUG_VARIABLE}:
            os.environ.pop(name, None)


def _read(named: Path | None) -> ConfigurationFile | None:
    from explorer.configuration.place import configuration_place

    if (place := configuration_place(named)) is None:
        return None
    from explorer.configuration.reading import read_configuration

    return read_configuration(place)


def _variables(file: ConfigurationFile | None) -> dict[str, str]:
    """Return the environment variables that a configuration file sets."""
    if file is None:
        return {}
    from explorer.configuration.records import VARIABLES

    variables = dict[str, str]()
    for key, variable in VARIABLES.items():
        owner: Any = file.values if len(key) == 1 else getattr(file.values, str(key[0]))
        value = getattr(owner, str(key[-1]))
        if value is not None and value is not False:
            variables[variable] = "1" if value is True else str(value)
    if not file.values.cache.enabled:
        variables[CACHE_VARIABLE] = "off"
    return variables
