"""The JSON schemas of the command line, made from its records: ``python -m tests.cli.schemas`` writes them."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.activity.event import RecordEntry
from explorer.auditing.document import AuditDocument
from explorer.auditing.erasure.document import ErasureDocument
from explorer.cli.commands.blame import BlameLine
from explorer.cli.commands.changes import ChangesFile, FeedGaps
from explorer.cli.commands.commits import DiffDocument, HistoryLine
from explorer.cli.commands.comparing import CompareDocument
from explorer.cli.commands.compatibility import CompatibilityLine
from explorer.cli.commands.config import CacheLine, ConfigDocument
from explorer.cli.commands.files import ColumnSummaryLine, FileLine, MaskedFileLine, StatisticsLine, UndecidedParts
from explorer.cli.commands.integrity import VerifyDocument
from explorer.cli.commands.retention import RetentionLine, WhatIfDocument
from explorer.cli.commands.rows import RowsFile
from explorer.cli.commands.serving import ServedDemo, ServerReady, UserSaved
from explorer.cli.commands.state import LineageLine, SnapshotDocument
from explorer.cli.commands.story import StoryLine
from explorer.cli.commands.team.activity import RecordArchived, RecordVerified
from explorer.cli.commands.team.approvals import ApprovalDocument
from explorer.cli.commands.team.notices import ChannelTest
from explorer.cli.commands.tripwires import AlarmLine, TrialLine, WatchLine
from explorer.cli.errors import ErrorDocument
from explorer.cli.layout_output import LayoutDocument
from explorer.core.maintenance.journal import MaintenanceEntry
from explorer.core.transaction.commit_plan import PlanDocument
from explorer.core.transaction.undoing.undo import UndoDocument
from explorer.notices.book import PostedNotice
from explorer.notices.notice import NoticeMessage
from explorer.report import TableReport, Verification
from explorer.report.case_file import CaseFile
from explorer.report.erasure_statement import ErasureStatement
from explorer.views.act.receipt import ReceiptDocument
from tests.support.shared_tables import REPOSITORY

__all__ = ["DOCUMENTS", "ERROR", "FOLDER", "MESSAGE", "RECEIPT", "Printed", "schemas"]

FOLDER = REPOSITORY / "docs" / "schema"
Record = type[msgspec.Struct]


class Printed(msgspec.Struct, frozen=True):
    """A record that a command prints: the name of its schema, when it is printed, and whether it is one of many."""

    name: str
    record: Record
    when: str = ""
    lines: bool = False


DOCUMENTS: Final[dict[str, tuple[Printed, ...]]] = {
    "snapshot": (Printed("snapshot", SnapshotDocument),),
    "columns": (Printed("columns", LineageLine, lines=True),),
    "files": (
        Printed("files", FileLine, lines=True),
        Printed("files-layout", LayoutDocument, "with --layout"),
        Printed("files-condition", UndecidedParts, "on stderr, if statistics cannot decide a part of --where"),
    ),
    "deletion-vectors": (Printed("deletion-vectors", MaskedFileLine, lines=True),),
    "statistics": (
        Printed("statistics", StatisticsLine, lines=True),
        Printed("statistics-summary", ColumnSummaryLine, "with --summary", lines=True),
    ),
    "history": (Printed("history", HistoryLine, lines=True),),
    "diff": (Printed("diff", DiffDocument),),
    "compare": (Printed("compare", CompareDocument),),
    "retention": (
        Printed("retention", RetentionLine, lines=True),
        Printed("retention-what-if", WhatIfDocument, "with --what-if"),
    ),
    "compatibility": (Printed("compatibility", CompatibilityLine, lines=True),),
    "verify": (Printed("verify", VerifyDocument),),
    "audit": (
        Printed("audit", AuditDocument, lines=True),
        Printed("audit-report", TableReport, "with --html, --since, --case, --sign or --details", lines=True),
    ),
    "blame": (Printed("blame", BlameLine, lines=True),),
    "pin": (Printed("case", CaseFile),),
    "verify-report": (Printed("verify-report", Verification),),
    "erasure": (
        Printed("erasure", ErasureDocument, lines=True),
        Printed("erasure-statement", ErasureStatement, "in the file of --statement"),
    ),
    "tripwires": (
        Printed("tripwires", AlarmLine, lines=True),
        Printed("tripwires-try", TrialLine, "with --try", lines=True),
        Printed("tripwires-watch", WatchLine, "with --watch, after each round", lines=True),
    ),
    "rows": (Printed("rows-file", RowsFile, "with --output; otherwise a line is a row, each column by its name"),),
    "head": (),
    "changes": (
        Printed("changes-file", ChangesFile, "with --output; otherwise a line is a row, each column by its name"),
        Printed("changes-gaps", FeedGaps, "on stderr, if versions were inferred or skipped"),
    ),
    "story": (Printed("story", StoryLine, lines=True),),
    "plan": (Printed("plan", PlanDocument), Printed("approval", ApprovalDocument, "with --ask")),
    "commit": (Printed("plan", PlanDocument),),
    "undo": (Printed("undo", UndoDocument),),
    "approvals": (Printed("approval", ApprovalDocument, lines=True),),
    "approve": (Printed("approval", ApprovalDocument),),
    "decline": (Printed("approval", ApprovalDocument),),
    "withdraw": (Printed("approval", ApprovalDocument),),
    "maintenance": (Printed("maintenance", MaintenanceEntry, lines=True),),
    "activity": (
        Printed("activity", RecordEntry, lines=True),
        Printed("activity-archived", RecordArchived, "with --archive"),
        Printed("activity-verified", RecordVerified, "with --verify"),
    ),
    "notices": (
        Printed("notices", PostedNotice, lines=True),
        Printed("notices-test", ChannelTest, "of `test`", lines=True),
    ),
    "cache": (Printed("cache", CacheLine, lines=True),),
    "config": (Printed("config", ConfigDocument),),
    "serve": (Printed("serve", ServerReady, "once it is ready"),),
    "demo": (Printed("demo", ServedDemo, "once it is ready"),),
    "passwd": (Printed("passwd", UserSaved),),
}
"""What each command prints with --json."""
ERROR: Final = Printed("error", ErrorDocument)
RECEIPT: Final = Printed("receipt", ReceiptDocument, "as the page of a commit saves it")

MESSAGE: Final = Printed("notices-message", NoticeMessage, "as a webhook receives it")


def schemas() -> dict[Path, str]:
    """Return the content of each file of the folder."""
    documents = [ERROR, RECEIPT, MESSAGE, *(each for all_of in DOCUMENTS.values() for each in all_of)]
    printed = {each.name: each.record for each in documents}
    return {FOLDER / f"{name}.json": _schema(record) for name, record in sorted(printed.items())}


def _schema(record: Record) -> str:
    found = msgspec.json.schema(record, schema_hook=_any_value)
    return json.dumps(_tidy(found), indent=1, ensure_ascii=False) + "\n"


def _any_value(kind: type) -> dict[str, Any]:
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON value."}


def _tidy(value: Any) -> Any:
    """A schema whose fields have the descriptions that the docstrings of the records give them."""
    match value:
        case {"description": str(text), "properties": dict(properties), **others}:
            said, fields = _described(text)
            described = {name: _tidy(item) | _of_field(fields, name) for name, item in properties.items()}
            return {"description": said, **{key: _tidy(item) for key, item in others.items()}, "properties": described}
        case dict():
            return {key: _tidy(item) for key, item in value.items()}
        case list():
            return [_tidy(item) for item in value]
        case _:
            return value


def _of_field(fields: dict[str, str], name: str) -> dict[str, str]:
    return {"description": fields[name]} if name in fields else {}


def _described(docstring: str) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and that of each of its attributes by its name in JSON."""
    text, _, attributes = inspect.cleandoc(docstring).partition("\nAttributes:\n")
    parts = [" ".join(part.split()) for part in re.split(r"\n(?= {4}\S)", attributes.rstrip()) if part.strip()]
    named = (part.partition(": ") for part in parts)
    fields = {_camel(name): _plain(said) for names, _, said in named for name in names.split(", ")}
    return _plain(" ".join(text.split())), fields


def _plain(text: str) -> str:
    return re.sub(r"``(\w+)``", lambda name: f"`{_camel(name[1])}`", text).replace("``", "`")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    made = schemas()
    for old in set(FOLDER.glob("*.json")) - set(made):
        old.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
