"""What an intent asks for, in a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_document, intent_kind
from explorer.core.transaction.intents.records import Intent

__all__ = ["Headline", "headline"]


@dataclass(frozen=True, slots=True)
class Headline:
    """What is asked for: ``Add constraint``, the thing it is done to, and the text that goes with it."""

    verb: str
    subject: str = ""
    code: str = ""


def headline(intent: Intent) -> Headline:
    """Say what an intent asks for."""
    return _of_table(intent) or _of_column(intent) or _of_protocol(intent) or _of_files(intent) or _other(intent)


def _of_table(intent: Intent) -> Headline | None:
    match intent:
        case intents.AddConstraint():
            return Headline("Add constraint", intent.name, intent.expression)
        case intents.DropConstraint():
            return Headline("Drop constraint", intent.name)
        case intents.SetProperties():
            lines = "\n".join(f"{key} = {value}" for key, value in intent.properties.items())
            return Headline("Set", _counted(intent.properties, "property", "properties"), lines)
        case intents.UnsetProperties():
            return Headline("Unset", _counted(intent.keys, "property", "properties"), "\n".join(intent.keys))
        case intents.SetDescription():
            return Headline("Describe the table", "", intent.description or "")
        case intents.Restore():
            return Headline("Restore", f"v{intent.version}" if intent.version is not None else str(intent.timestamp))
    return None


def _of_column(intent: Intent) -> Headline | None:
    match intent:
        case intents.AddColumns(fields=(field,)):
            return Headline("Add column", str(field.get("name", "")), str(field.get("type", "")))
        case intents.DropColumns(columns=(column,)):
            return Headline("Drop column", column)
        case intents.MoveColumn():
            return Headline("Move column", intent.column, f"to {intent.at}")
        case intents.RenameColumn():
            return Headline("Rename column", f"{intent.column} \u2192 {intent.to}")
        case intents.WidenType():
            return Headline("Widen", f"{intent.column} \u2192 {intent.type}")
        case intents.SetColumnComment():
            return Headline("Comment on column", intent.column, intent.comment or "")
        case intents.SetNotNull():
            return Headline("Refuse nulls in", intent.column)
        case intents.DropNotNull():
            return Headline("Allow nulls in", intent.column)
    return None


def _of_protocol(intent: Intent) -> Headline | None:
    match intent:
        case intents.SetColumnMapping():
            return Headline("Set column mapping to", intent.mode)
        case intents.UpgradeProtocol():
            versions = f"reader {intent.min_reader_version}, writer {intent.min_writer_version}"
            return Headline("Upgrade the protocol to", versions)
        case intents.EnableFeature():
            return Headline("Enable feature", intent.feature)
        case intents.DropFeature():
            return Headline("Drop feature", intent.feature)
    return None


def _of_files(intent: Intent) -> Headline | None:
    match intent:
        case intents.Checkpoint():
            return Headline("Write a checkpoint")
        case intents.CompactLog():
            return Headline("Compact the log", f"v{intent.from_} to v{intent.to}")
        case intents.CleanLog():
            return _aged("Clean up the log", intent.older_than)
        case intents.Vacuum():
            return _aged("Delete unused files", intent.older_than)
    return None


def _aged(verb: str, older_than: str | None) -> Headline:
    return Headline(verb) if older_than is None else Headline(f"{verb}, older than", older_than)


def _other(intent: Intent) -> Headline:
    rest = {name: value for name, value in intent_document(intent).items() if name != "kind"}
    verb = intent_kind(intent).replace("-", " ").capitalize()
    return Headline(verb, "", json.dumps(rest, ensure_ascii=False) if rest else "")


def _counted(items: Sequence[str] | Mapping[str, str], noun: str, nouns: str) -> str:
    return next(iter(items)) if len(items) == 1 else fmt.plural(len(items), noun, nouns)
