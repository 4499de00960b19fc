"""The commands under one name, and their end: every error becomes a message and an exit code, never a traceback.

Standard output has typed failures, as a full disk is not a bug: what fails there is a `StorageError`, except a broken
pipe.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from explorer.cli.errors import CANCELLED, exit_code, facts_of, typed
from explorer.cli.in_force import configured
from explorer.cli.output import complain
from explorer.core.errors import StorageError
from explorer.credentials import without_credentials
from explorer.debug import DEBUG_VARIABLE, debugging
from explorer.variables import CACHE_VARIABLE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_BROKEN_PIPE: Final = 141
_STDOUT: Final = 1
_COMMANDS: Final = {
    "snapshot": "state",
    "columns": "state",
    "files": "files",
    "deletion-vectors": "files",
    "statistics": "files",
    "history": "commits",
    "diff": "commits",
    "compare": "comparing",
    "retention": "retention",
    "compatibility": "compatibility",
    "verify": "integrity",
    "audit": "audit",
    "blame": "blame",
    "pin": "evidence",
    "verify-report": "evidence",
    "erasure": "erasure",
    "tripwires": "tripwires",
    "rows": "rows",
    "head": "rows",
    "changes": "changes",
    "story": "story",
    "plan": "plans",
    "commit": "plans",
    "undo": "plans",
    "approvals": "team.approvals",
    "approve": "team.approvals",
    "decline": "team.approvals",
    "withdraw": "team.approvals",
    "maintenance": "retention",
    "activity": "team.activity",
    "notices": "team.notices",
    "cache": "config",
    "config": "config",
    "serve": "serving",
    "demo": "serving",
    "passwd": "serving",
}
"""The module of each command; its function has the name of the command, with underscores."""


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name. Each is imported and made at its first use: most modules serve one command alone."""

    def __init__(self) -> None:
        self._made: dict[str, TyperCommand] = {}

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in self._made:
            self._made[name] = _command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _CommandGroup(TyperGroup):
    """The group of all commands, which makes only those that it runs or lists."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # commands are looked up, none is added
        _make_plain(self)


def _command(name: str) -> TyperCommand:
    module = importlib.import_module(f"explorer.cli.commands.{_COMMANDS[name]}")
    gc.freeze()
    gc.enable()
    alone = typer.Typer(add_completion=False)
    alone.command(name)(configured(getattr(module, name.replace("-", "_"))))
    command = typer.main.get_command(alone)
    assert isinstance(command, TyperCommand), "an application of one command is that command"
    _make_plain(command)
    return command


app = typer.Typer(
    name="delta-explorer",
    cls=_CommandGroup,
    help="Explain a Delta table: what it contains now, how it got there, and what each commit did.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the full error with its traceback and causes, and write them to the log as well."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Do not read or write the cache; read every log in full.")
    ] = False,
) -> None:
    """Explain a Delta table: what it contains now, how it got there, and what each commit did."""
    if debug:
        # A variable, so that the processes that this one starts know it too; `run` takes it back.
        os.environ[DEBUG_VARIABLE] = "1"
    if no_cache:
        # A variable, so that the processes that this one starts know it too.
        os.environ[CACHE_VARIABLE] = "off"


@functools.cache
def command_group() -> TyperGroup:
    """Return all commands; each is made once in a process, as Typer takes longer for one than many take to run."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup), "an application with options of its own is a group"
    return group


def _make_plain(command: Any) -> None:
    """Let the help of a command be as wide as the screen, and not name a type for a flag, which takes no value."""
    command.help = "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n"))
    for parameter in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        _convert_late(parameter)


def _convert_late(parameter: Any) -> None:
    """Let a parameter of a command load Pydantic for values that need it alone: it takes as long as NumPy to load."""
    converter = parameter.get_runtime_param
    parameter.get_runtime_param = lambda: _AsGiven(converter)


class _AsGiven:
    """Gives values that are of their type already as they are, and all others to Typer's converter."""

    def __init__(self, converter: Callable[[], Any]) -> None:
        self._converter = converter

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter for its command."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        descriptor = param.type_descriptor
        if descriptor.parameter_info.parser is None:
            if descriptor.annotation is str and isinstance(value, str):
                return value
            if (
                descriptor.annotation == list[str]
                and isinstance(value, list | tuple)
                and all(isinstance(each, str) for each in value)
            ):
                return list(value)
        return self._converter().coerce(value, param=param, ctx=ctx)


def main() -> None:
    """Entry point of the command."""
    sys.stdout = typed_output(sys.stdout)
    if sys.stderr is None:
        # It is closed: the reader that closed it wants to see no message.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    # OpenBLAS starts threads when NumPy is loaded, which takes longer than many commands; no command uses them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # until the command is loaded, as modules stay
    code = run(sys.argv[1:])
    gc.freeze()  # Python would look for garbage three times before it ends
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    before = os.environ.get(DEBUG_VARIABLE)
    try:
        return _run(arguments)
    finally:
        if before is None:
            os.environ.pop(DEBUG_VARIABLE, None)


def _run(arguments: Sequence[str]) -> int:
    try:
        result = command_group()(list(arguments), prog_name="delta-explorer", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        result = CANCELLED
    except (BrokenPipeError, SystemExit):
        # The reader of the output has closed it (Typer and rich make a SystemExit of it).
        _forget_output()
        return _BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  # the outermost frame: people get a message, not a traceback
        if "--debug" in arguments or debugging():
            sys.stderr.write(without_credentials("".join(traceback.format_exception(error))))
            return exit_code(typed(error))
        error = typed(error)
        if str(error) or not isinstance(error, typer.TyperException):  # else it has shown the help instead
            complain(facts_of(error), as_json="--json" in arguments)
        try:
            sys.stdout.flush()
        except (OSError, StorageError):
            _forget_output()
        return exit_code(error)
    if result == CANCELLED:
        # Typer turns Ctrl-C into this, too.
        complain({"error": "Cancelled", "message": "Cancelled."}, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _forget_output() -> None:
    """Let what is still buffered not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)


def typed_output(given: TextIO | None) -> TextIO:
    """Return the same output with typed failures; an output that is not a file of the system stays as it is.

    None, which Python has where standard output is closed, is an output that fails when it is written to.
    """
    if given is None:
        return io.TextIOWrapper(io.BufferedWriter(_OutputFile(os.open(os.devnull, os.O_RDONLY), "wb")))
    if not isinstance(given, io.TextIOWrapper):
        return given
    given.flush()
    file = _OutputFile(given.fileno(), "wb", closefd=False)
    # Python runs unbuffered if it was asked to.
    buffer: io.FileIO | io.BufferedWriter = file if given.write_through else io.BufferedWriter(file)
    return io.TextIOWrapper(
        buffer,
        encoding=given.encoding,
        errors=given.errors,
        line_buffering=given.line_buffering,
        write_through=given.write_through,
    )


class _OutputFile(io.FileIO):
    """A file of the system that says that it is standard output."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, and return how many.

        Raises:
            BrokenPipeError: The reader has closed the pipe.
            StorageError: They cannot be written.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StorageError(
                f"Standard output cannot be written: {error.strerror}. Make room there, or redirect it."
            ) from error
