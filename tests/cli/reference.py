"""The reference of the command line, made from the commands themselves.

``python -m tests.cli.reference`` writes ``docs/cli.md``, which lists the commands. The site that ``make docs`` builds
has every option of each in its place (`docs/conf.py`).
"""

import inspect
import textwrap
from typing import Any

from explorer.cli import errors
from explorer.cli.app import command_group
from tests.cli.schemas import DOCUMENTS, Printed
from tests.support.shared_tables import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "cli.md"
_WIDTH = 120
_HEAD = """\
# Command line

{options}

Every command takes `--json`: one document, or one JSON line a row. Field names are the protocol's. The schema of each
document is in [schema](schema). Errors then are one JSON object on stderr ([schema](schema/error.json)): `error` (the
class), `message`, and the facts of the error. `delta-explorer --debug COMMAND ...` shows the traceback of an error. The
receipt that the page of a commit saves has a schema too ([schema](schema/receipt.json)).

## Exit codes

"""


_ROWS = "a line is a row, each column by its name"
_SHORT = """\
`delta-explorer COMMAND --help` has the options of a command, the site that `make docs` builds those of all. Made from
the commands by `python -m tests.cli.reference`; a test compares."""
_WHOLE = "Made from the commands, which say the same with `--help`."


def render() -> str:
    """Return the document: each command in a line, and the forms of its JSON."""
    lines = [
        f"| `{name}` | {_first_paragraph(command.help)} | {_links(name)} |" for name, command in _commands().items()
    ]
    return "\n".join([f"{_head(_SHORT)}\n## Commands\n\n| Command | What it does | JSON |\n|---|---|---|", *lines, ""])


def render_whole() -> str:
    """Return the page of the site: each command with all that its help says."""
    parts = [_head(_WHOLE)]
    for name, command in _commands().items():
        parts.append(f"\n## {name}\n\n    delta-explorer {name} {_usage(command)}\n\n{_wrapped(command.help)}\n")
        parts.append(f"\n{_wrapped(f'JSON: {_forms(name)}')}.\n")
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        parts.append("\n| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def _head(options: str) -> str:
    doc = inspect.cleandoc(errors.__doc__ or "").split("\n\n")[1]
    return _HEAD.format(options=options) + inspect.cleandoc(doc).join(("```\n", "\n```\n"))


def _commands() -> dict[str, Any]:
    group: Any = command_group()
    commands: dict[str, Any] = group.commands
    return commands


def _links(name: str) -> str:
    """The forms of a command's JSON, each a link to its schema."""
    links = [
        f"[{'lines' if each.lines else 'a document'}](schema/{each.name}.json){' ' if each.when else ''}{each.when}"
        for each in DOCUMENTS[name]
    ]
    return "; ".join(links) or _ROWS


def _forms(name: str) -> str:
    return "; ".join(map(_printed, DOCUMENTS[name])) or _ROWS


def _printed(each: Printed) -> str:
    form = "a line each" if each.lines else "one document"
    return f"[{each.name}](schema/{each.name}.json), {form}{', ' if each.when else ''}{each.when}"


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def _wrapped(text: str) -> str:
    return "\n\n".join(textwrap.fill(part, _WIDTH, break_on_hyphens=False) for part in text.split("\n\n"))


def _usage(command: Any) -> str:
    arguments = [_metavar(p) for p in command.params if p.param_type_name == "argument"]
    return " ".join([*arguments, "[OPTIONS]"])


def _row(parameter: Any) -> str:
    spelt = _metavar(parameter)
    if parameter.param_type_name == "option":
        spelt = " ".join(
            [*parameter.opts, *parameter.secondary_opts, *([parameter.metavar] if parameter.metavar else [])]
        )
    return f"| `{spelt}` | {parameter.help} |".replace("\\", "")


def _metavar(parameter: Any) -> str:
    return f"{parameter.metavar or parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}"


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(render(), encoding="utf-8")
