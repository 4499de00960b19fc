"""Changes that make no version: checkpoints, compactions, and what is deleted because nothing needs it any more."""

from __future__ import annotations

from typing import Any, Final

from explorer.core.protocol.table_properties.keys import FILE_RETENTION, LOG_RETENTION
from explorer.views.act.questions import Answers, ChangeKind, FormField, number_or_text

__all__ = ["MAINTENANCE_KINDS"]


def _nothing(_snapshot: Any, _answers: Answers) -> tuple[FormField, ...]:
    return ()


def _compaction(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return (
        FormField("from", "First version", help="Its commit has to be in the log.", placeholder="0",
                  value=answers.get("from", ""), is_version=True),
        FormField("to", "Last version", help="A later one. Readers then take one file for all commits between.",
                  placeholder=str(snapshot.version), value=answers.get("to", ""), is_version=True),
    )  # fmt: skip


def _age(snapshot: Any, answers: Answers, key: str, default: str, what: str) -> tuple[FormField, ...]:
    kept = snapshot.metadata.configuration.get(key, default)
    help_ = (
        f"An interval, or a time with a zone. Left empty, the table\u2019s own {key} holds: {kept}. Nothing younger "
        f"than that goes; {what}"
    )
    value = answers.get("olderThan", "")
    return (FormField("olderThan", "Older than", "text", help_, kept, value, required=False),)


def _log_age(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    return _age(snapshot, answers, LOG_RETENTION, "interval 30 days", "versions that lose their log cannot be read.")


def _file_age(snapshot: Any, answers: Answers) -> tuple[FormField, ...]:
    what = "versions that need a deleted file cannot be read."
    return _age(snapshot, answers, FILE_RETENTION, "interval 1 week", what)


def _age_intent(answers: Answers) -> dict[str, Any]:
    text = answers.get("olderThan", "").strip()
    return {"olderThan": text} if text else {}


def _compaction_intent(answers: Answers) -> dict[str, Any]:
    return {name: number_or_text(answers.get(name, "")) for name in ("from", "to")}


def _kept(key: str, default: str) -> Any:
    return lambda snapshot: snapshot.metadata.configuration.get(key, default).removeprefix("interval ")


MAINTENANCE_KINDS: Final[dict[str, ChangeKind]] = {
    "checkpoint": ChangeKind(
        "Write a checkpoint", "One file that says what the commits say, so that tables open faster.",
        _nothing, lambda _: {}, lambda s: f"of v{s.version}", needs_answer=False,
    ),
    "compact-log": ChangeKind(
        "Compact the log", "One file beside a range of commits, for readers to take instead.",
        _compaction, _compaction_intent, lambda s: f"now v{s.version}",
        lambda s: "" if s.version else "There is one commit only.",
    ),
    "clean-log": ChangeKind(
        "Clean up the log", "Delete log files that are old enough. Their versions are lost.",
        _log_age, _age_intent, _kept(LOG_RETENTION, "interval 30 days"), needs_answer=False,
    ),
    "vacuum": ChangeKind(
        "Delete unused files", "Vacuum: data files that nothing has needed for long. Old versions may need them.",
        _file_age, _age_intent, _kept(FILE_RETENTION, "interval 1 week"), needs_answer=False, costly=True,
    ),
}  # fmt: skip
