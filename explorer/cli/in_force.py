"""What a command runs with besides its own options: the configuration file, and the options of stores.

Flags precede environment variables, which precede the file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from explorer.configuration.in_force import in_force as now_in_force
from explorer.configuration.in_force import using
from explorer.configuration.place import configuration_place
from explorer.core.errors import RequestError
from explorer.variables import CONFIG_VARIABLE

if TYPE_CHECKING:
    from explorer.configuration.reading import ConfigurationFile
    from explorer.storage.served_root import ServedRoot

_PLACES: Final = frozenset({"table", "tables", "roots"})
_ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help=f"Configuration file (default: the one that {CONFIG_VARIABLE} names, otherwise explorer.toml in the "
        "user's settings folder).",
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


def in_force() -> ConfigurationFile:
    """Return the configuration of the command that runs."""
    if (file := now_in_force().file) is not None:
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


def roots_of(places: Sequence[str] | None, argument: str) -> list[ServedRoot]:
    """Return the roots that a command names, or those of the configuration if it names none.

    Args:
        places: Folders and URLs.
        argument: The name of the argument, for the error.

    Raises:
        BadParameter: There are none.
        RequestError: `options_of` raises one.
    """
    from explorer.storage.served_root import configured_roots, named_roots

    if places:
        return named_roots(places)
    if not (roots := configured_roots()):
        raise typer.BadParameter(
            "None is given. Name one, or put it into the configuration as a table [[roots]].", param_hint=argument
        )
    return roots


@contextmanager
def _using(file: Path | None, options: Mapping[str, str]) -> Iterator[None]:
    with using(_read(file), options):
        yield


def _read(named: Path | None) -> ConfigurationFile | None:
    if (place := configuration_place(named)) is None:
        return None
    from explorer.configuration.reading import read_configuration

    return read_configuration(place)
