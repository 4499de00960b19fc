"""Plans, receipts and history held against the log that a commit left, read without the program.

Every intent is planned and committed on copies of the reference's tables. Each number and each sentence of the plan is
then compared with the raw log before and after; the undo that it states is carried out, and what it leaves must have
been said.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.compatibility.access import losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, MaintenancePlan, Plan
from explorer.core.transaction.intents.documents import intent_kind, intent_kinds
from explorer.spark.scan.scan import scan
from explorer.views.act.plan_view import plan_view
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.every_intent import NO_UNDO, plain_intents, row_intents, undo_intents
from tests.support.logs.raw_log import Action, RawState, commit_lines, raw_state, stored_files, versions_of
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.golden

SMALL_DOSE: Final = ("change-feed", "in-commit-timestamps")
RISKY: Final = {
    "delta.enableInCommitTimestamps", "delta.enableChangeDataFeed", "delta.enableDeletionVectors", "v2Checkpoint",
    "changeDataFeed", "allowColumnDefaults", "overwrite", "recompute-statistics",
}  # fmt: skip
"""Properties, features and kinds of which plans once said what was not so."""
KINDS_OF: Final = ("change-feed", "constraints-null", "domain-metadata", "drop-feature", "type-widening")
OLD: Final = 40 * 86_400
_TIMES: Final = ("timestamp", "inCommitTimestamp", "txnId")
_ICT: Final = "delta.inCommitTimestampEnablementTimestamp"


def tables() -> list[str]:
    root = reference_root() / "tables"
    return [path.name for path in sorted(root.iterdir()) if WHOLE_DOSE or path.name in SMALL_DOSE]


@dataclass(frozen=True, slots=True)
class Done:
    """A plan that was carried out: the versions before and after it as they are in the log."""

    root: Path
    intent: dict[str, Any]
    plan: CommitPlan
    result: CommitResult
    before: RawState
    after: RawState
    masked_before: bool

    @property
    def lines(self) -> list[Action]:
        return commit_lines(self.root, self.after.version)

    def actions(self, kind: str) -> list[Action]:
        return [line[kind] for line in self.lines if kind in line]


def test_every_intent_is_known_to_this_test() -> None:
    root = reference_root() / "tables"
    kinds = {"create-table"}
    for name in at_least_one(KINDS_OF):
        raw, snapshot = raw_state(root / name), explorer.open_table(root / name).snapshot()
        assert raw is not None
        kinds |= {intent["kind"] for intent in plain_intents(snapshot, raw)}
        kinds |= {intent["kind"] for intent in row_intents(snapshot, "")}
    assert kinds == set(intent_kinds())


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("name", tables())
def test_plain_changes_are_as_planned(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    source = aged(reference_root() / "tables" / name, tmp_path / "source")
    raw, snapshot = raw_state(source), explorer.open_table(source).snapshot()
    assert raw is not None
    counts = each_carried_out(source, tmp_path, by_risk(plain_intents(snapshot, raw)))
    record_property("found", dict(counts))


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
@pytest.mark.parametrize("name", tables() if WHOLE_DOSE else tables()[:1])
def test_changes_of_rows_are_as_planned(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    source = aged(reference_root() / "tables" / name, tmp_path / "source")
    opened = explorer.open_table(source)
    rows = tmp_path / "rows.parquet"
    pq.write_table(first_rows(opened), rows)
    intents = row_intents(opened.snapshot(), str(rows))
    chosen = intents if WHOLE_DOSE else [each for each in intents if each["kind"] in RISKY and "where" not in each]
    counts = each_carried_out(source, tmp_path, chosen)
    record_property("found", dict(counts))


def by_risk(intents: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every intent in the whole dose; else the first of each kind, and those that more than one sentence speaks of."""
    seen = set[str]()
    for intent in intents:
        named = {*intent.get("properties", ()), intent.get("feature")}
        if WHOLE_DOSE or intent["kind"] not in seen or named & RISKY:
            yield intent
        seen.add(intent["kind"])


def first_rows(opened: explorer.Table) -> pa.Table:
    """Some rows of the table, of the version with most of them."""
    for version in range(opened.latest_version(), -1, -1):
        snapshot = opened.snapshot(version)
        if snapshot.num_files:
            return scan(opened, snapshot).to_arrow().slice(0, 3)
    raise AssertionError("no version has rows")


def aged(table: Path, folder: Path) -> Path:
    """A copy of a table whose files are older than its retention, except those of the newest version."""
    shutil.copytree(table, folder)
    old = time.time() - OLD
    newest = f"{versions_of(folder)[-1]:020d}"
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file() and not path.name.startswith(newest):
            os.utime(path, (old, old))
    return folder


def each_carried_out(source: Path, folder: Path, intents: Iterable[dict[str, Any]]) -> Counter[str]:
    """Carry out each intent on a copy of its own, and tell all that differ together."""
    counts, wrong = Counter[str](), list[str]()
    for number, intent in enumerate(at_least_one(list(intents))):
        try:
            counts[carried_out(source, folder / str(number), intent)] += 1
        except AssertionError as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = "" if where is None else f"{where.tb_frame.f_code.co_name}:{where.tb_lineno}"
            wrong.append(f"{intent}: {place}: {error}"[:600])
    assert not wrong, "\n".join(wrong)
    # A table with a feature that this program does not write takes no commit: each of its plans is blocked.
    assert counts["committed"] > 0 or counts["blocked"] > counts["carried out"]
    return counts


def carried_out(source: Path, folder: Path, intent: dict[str, Any]) -> str:
    """Plan and commit on a copy, and compare; returns what became of it."""
    shutil.copytree(source, folder)
    opened = explorer.open_table(folder)
    before = raw_state(folder)
    assert before is not None
    try:
        plan = opened.plan(intent, check_rows=False, user="ana")
    except (InvalidIntent, RequestError):
        return "refused"
    unknown = [guard.name for guard in plan.guards if guard.status == "unknown"]
    plan = opened.plan(intent, check_rows=False, accept=unknown, user="ana")
    check_words(plan)
    if not plan.committable:
        return "blocked"
    if isinstance(plan, MaintenancePlan):
        check_maintenance(folder, opened, plan, before)
        return "carried out"
    result = opened.commit(plan, reason="why")
    assert isinstance(result, CommitResult)
    assert (result.outcome, result.notes) == ("committed", ()), intent
    after = raw_state(folder)
    assert after is not None
    assert after.version == before.version + 1 == result.version == plan.commit_version
    done = Done(folder, intent, plan, result, before, after, before.masked)
    for check in at_least_one(CHECKS):
        check(done)
    check_undo(done, opened)
    shutil.rmtree(folder)
    return "committed"


# --- the plan and the commit ------------------------------------------------------------------------------------------


def check_actions(done: Done) -> None:
    """What is in the log was planned, but for times; the receipt has it as it is there."""
    assert list(done.result.plan.actions) == done.lines
    if done.plan.proposal.writing is not None:
        planned = [each["add"]["path"] for each in done.plan.actions if "add" in each]
        assert set(planned) <= {add["path"] for add in done.actions("add")}
        return
    assert [steady(each) for each in done.plan.actions] == [steady(each) for each in done.lines]
    assert done.plan.digest == done.result.plan.digest


def steady(action: Mapping[str, Any]) -> Any:
    """An action without what only the commit knows, or that names a new file or column."""
    (kind, value) = next(iter(action.items()))
    if kind == "commitInfo":
        hidden = (*_TIMES, "userMetadata", "userName")
        return {kind: {key: item for key, item in value.items() if key not in hidden}}
    if kind == "metaData":
        configuration = {key: item for key, item in value["configuration"].items() if key != _ICT}
        return {kind: {**value, "configuration": configuration}}
    return action


def check_metrics(done: Done) -> None:
    """The operation's numbers are those of the commit's actions."""
    (info,) = done.actions("commitInfo")
    metrics = {key: int(value) for key, value in info["operationMetrics"].items()}
    adds, removes = done.actions("add"), done.actions("remove")
    again = {add["path"] for add in adds} & {remove["path"] for remove in removes}
    new = [add for add in adds if add["path"] not in again]
    gone = [remove for remove in removes if remove["path"] not in again]
    expected = {
        "RESTORE": {
            "numRestoredFiles": len([add for add in adds if add["dataChange"]]),
            "numRemovedFiles": len(removes),
            "numOfFilesAfterRestore": len(done.after.files),
            "tableSizeAfterRestore": sum(add["size"] for add in done.after.files.values()),
        },
        "WRITE": {"numFiles": len(new), "numOutputBytes": sum(add["size"] for add in new)},
        "OPTIMIZE": {
            "numAddedFiles": len(new),
            "numRemovedFiles": len(gone),
            "numAddedBytes": sum(add["size"] for add in new),
        },
        "DELETE": {"numRemovedFiles": len(gone), "numAddedChangeFiles": len(done.actions("cdc"))},
        "MERGE": {"numTargetFilesAdded": len(new), "numTargetFilesRemoved": len(gone)},
        "UPDATE": {"numAddedFiles": len(new)},
        "COMPUTE STATS": {"numFiles": len(adds)},
    }.get(info["operation"], {})
    assert {key: metrics.get(key) for key in expected} == expected


def check_history(done: Done) -> None:
    """The history tells of the version what its commit holds."""
    row = explorer.open_table(done.root).history(limit=1).to_pylist()[0]
    (info,) = done.actions("commitInfo")
    assert (row["version"], row["operation"], row["user_name"], row["reason"]) == (
        done.after.version,
        info["operation"],
        "ana",
        "why",
    )
    before, after = set(done.before.files), set(done.after.files)
    paths = {path for path, _ in before}, {path for path, _ in after}
    assert (row["num_files_added"], row["num_files_removed"]) == (len(paths[1] - paths[0]), len(paths[0] - paths[1]))
    assert (row["num_files"], row["num_bytes"]) == (len(after), sum(add["size"] for add in done.after.files.values()))
    assert row["protocol_changed"] == (steady_protocol(done.before) != steady_protocol(done.after))
    assert row["change_files"] == bool(done.actions("cdc"))


def steady_protocol(raw: RawState) -> Any:
    """A protocol, whatever the order of its features."""
    known = {key: item for key, item in raw.protocol.items() if item is not None}
    return {key: set(item) if isinstance(item, list) else item for key, item in known.items()}


def check_losses(done: Done) -> None:
    """The clients that lose access are those whose verdicts on the table before and after say so."""
    opened = explorer.open_table(done.root)
    sides = []
    for raw in (done.before, done.after):
        snapshot = opened.snapshot(raw.version)
        sides.append(requirements(snapshot.protocol, snapshot.metadata, has_vectors=raw.masked))
    found = losses(*sides, client_facts())
    for stated, operation in (
        (done.plan.consequences.readers, "read"),
        (done.plan.consequences.writers, "write"),
    ):
        lost = [each.document() for each in found if each.operation == operation]
        assert list(stated) == lost


def check_time_travel(done: Done) -> None:
    """No version is lost by a commit, and what switches on by itself is said."""
    text = done.plan.consequences.time_travel
    assert text.startswith("No version is lost")
    added = done.after.configuration.keys() - done.before.configuration.keys()
    if _ICT in added and done.plan.proposal.operation != "RESTORE":
        assert _ICT in text
        (line,) = [each["metaData"] for each in done.plan.actions if "metaData" in each]
        version = line["configuration"]["delta.inCommitTimestampEnablementVersion"]
        assert version == str(done.after.version)


def check_change_feed(done: Done) -> None:
    """What the feed shows of the commit is what its actions say."""
    text = done.plan.consequences.change_feed
    on = [is_on(raw) for raw in (done.before, done.after)]
    if not all(on):
        assert "will appear" not in text
        return
    kinds = changed_rows(done)
    if text.startswith("Nothing changes"):
        assert not any(kinds.values())
    for number, kind in re.findall(r"([\d,]+) rows? will appear as (\w+)", text):
        assert int(number.replace(",", "")) == kinds[kind]
    if match := re.search(r"inserted, ([\d,]+) rows? as deleted", text):
        assert int(match[1].replace(",", "")) == kinds["deleted"]


def is_on(raw: RawState) -> bool:
    supported = "changeDataFeed" in raw.features or 4 <= raw.protocol["minWriterVersion"] < 7
    return supported and raw.configuration.get("delta.enableChangeDataFeed", "").lower() == "true"


def changed_rows(done: Done) -> dict[str, int]:
    """How many rows the feed shows as inserted and deleted: by its files, else by the files added and removed."""
    changes = done.actions("cdc")
    if changes:
        types = Counter[str]()
        for change in changes:
            types.update(pq.ParquetFile(done.root / change["path"]).read(["_change_type"]).column(0).to_pylist())
        return {"inserted": types["insert"], "deleted": types["delete"]}
    adds = [add for add in done.actions("add") if add["dataChange"]]
    removes = [remove for remove in done.actions("remove") if remove["dataChange"]]
    came, went = ([unquote(each["path"]) for each in actions] for actions in (adds, removes))
    both = {*came} & {*went}
    live = {path: action for (path, _), action in done.before.files.items()}
    now = {path: action for (path, _), action in done.after.files.items()}
    return {
        "inserted": sum(rows_of(now[path]) for path in came if path not in both)
        + sum(max(0, rows_of(now[path]) - rows_of(live[path])) for path in both),
        "deleted": sum(rows_of(live[path]) for path in went if path not in both)
        + sum(max(0, rows_of(live[path]) - rows_of(now[path])) for path in both),
    }


def rows_deleted(done: Done) -> int:
    """How many rows go: those before, and those that the operation counts as new, less those after."""
    (info,) = done.actions("commitInfo")
    metrics = {key: int(value) for key, value in info["operationMetrics"].items()}
    new = metrics.get("numTargetRowsInserted", metrics.get("numOutputRows", 0) - metrics.get("numCopiedRows", 0))
    before, after = (sum(map(rows_of, raw.files.values())) for raw in (done.before, done.after))
    return before + (0 if info["operation"] == "DELETE" else new) - after


def rows_of(action: Action) -> int:
    vector = action.get("deletionVector")
    return int(json.loads(action["stats"])["numRecords"]) - (0 if vector is None else vector["cardinality"])


def check_headline(done: Done) -> None:
    """The page warns of rows that go."""
    snapshot = explorer.open_table(done.root).snapshot(done.before.version)
    view = plan_view(done.plan, snapshot)
    gone = re.match(r"([\d,]+) rows? (?:is|are) deleted", view.worst)
    if done.intent["kind"] in ("overwrite", "delete", "merge") and view.worst_tone != "danger":
        rows = rows_deleted(done)
        if snapshot.num_records is None and rows:
            # The checkpoint holds no statistics, which the commits that are read here have.
            assert view.worst.startswith("Rows are deleted; the log does not record how many") or gone
        else:
            assert (int(gone[1].replace(",", "")) if gone else 0) == rows
    # A file that another vector masks is removed and added in one commit, and a tombstone is of a file that was gone
    # before: neither is left behind.
    back = {unquote(each["path"]) for each in done.actions("add")}
    removed = {unquote(each["path"]) for each in done.actions("remove")}
    left = (removed - back) & {path for path, _ in done.before.files}
    stated = [line for line in view.written if line.detail.endswith("until a vacuum")]
    assert sum(int(line.subject.split(" ")[0].replace(",", "")) for line in stated) == len(left)


CHECKS: Final = (
    check_actions, check_metrics, check_history, check_losses, check_time_travel, check_change_feed, check_headline,
)  # fmt: skip


def check_words(plan: Plan) -> None:
    """No sentence has a count that does not fit its noun, or a number below zero."""
    texts = [str(guard.evidence.get("detail", "")) for guard in plan.guards]
    consequences = plan.consequences
    texts += [consequences.time_travel, consequences.change_feed, consequences.undo]
    for text in texts:
        assert not re.search(r"\b1 (?:files|rows|columns|versions|properties|folders)\b", text), text
        assert not re.search(r"(?<![\w'.])-\d+ (?:file|row|version)", text), text
        assert not re.search(r"\bin 0 files\b", text), text


# --- maintenance ------------------------------------------------------------------------------------------------------


def check_maintenance(folder: Path, opened: explorer.Table, plan: MaintenancePlan, before: RawState) -> None:
    """The planned files come or go, and the versions that are said to be lost are those that can no longer be read."""
    log = folder / "_delta_log"
    by_files = intent_kind(plan.intent) == "vacuum"
    readable, told_feed = readable_versions(folder, files=by_files), feed_versions(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    result = opened.commit(plan)
    assert result.outcome == "committed"
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    deleted = {file.path for file in plan.files if file.change == "delete"}
    assert there - left == deleted
    written = [file for file in plan.files if file.change == "write"]
    commits = sorted(path for path in left - there if re.fullmatch(r"_delta_log/\d{20}\.json", path))
    operations = [operation_of(folder / path) for path in commits]
    assert operations == (["VACUUM START", "VACUUM END"] if by_files else [])
    beside_commits = re.compile(r"_delta_log/(\d{20}\.(json|crc|checkpoint.*)|_last_checkpoint)")
    new = {path for path in left - there if not (by_files and beside_commits.fullmatch(path))}
    assert bool(new) == bool(written)
    assert (raw_state(folder) or before).files.keys() == before.files.keys()
    assert versions_in(plan.consequences.time_travel) == set(readable) - set(readable_versions(folder, files=by_files))
    if by_files:
        assert versions_in(plan.consequences.change_feed) == set(told_feed) - set(feed_versions(folder))
    for table in at_least_one([opened, explorer.open_table(folder)]):
        again = table.plan(plan.intent)
        assert isinstance(again, MaintenancePlan)
        assert again.files == (), "there is nothing left to do, and the table that did it knows"
    assert log.is_dir()


def operation_of(commit: Path) -> str:
    """The operation that a commit states."""
    actions = map(json.loads, commit.read_text("utf-8").splitlines())
    return str(next(action["commitInfo"]["operation"] for action in actions if "commitInfo" in action))


def versions_in(text: str) -> set[int]:
    """The versions that a sentence says are lost."""
    match = re.match(r"Versions? ([\d, toand]+) can no longer", text)
    if match is None:
        return set()
    found: set[int] = set()
    for span in re.findall(r"(\d+)(?: to (\d+))?", match[1]):
        found |= set(range(int(span[0]), int(span[1] or span[0]) + 1))
    return found


def readable_versions(root: Path, *, files: bool) -> list[int]:
    """The versions that the log rebuilds, and whose files are all there."""
    stored = stored_files(root)
    states = ((version, raw_state(root, version)) for version in range(versions_of(root)[-1] + 1))
    return [version for version, state in states if state is not None and (not files or state.needed <= stored)]


def feed_versions(root: Path) -> list[int]:
    """The versions whose recorded or inferred changes can be read."""
    return [version for version in versions_of(root) if has_changes(root, version)]


def has_changes(root: Path, version: int) -> bool:
    state, before = raw_state(root, version), raw_state(root, version - 1) if version else RawState(-1)
    if state is None or not is_on(state):
        return False
    lines = commit_lines(root, version)
    if changes := [line["cdc"]["path"] for line in lines if "cdc" in line]:
        return all((root / path).is_file() for path in changes)
    needed = RawState(version)
    for line in lines:
        for kind in ("add", "remove"):
            if kind in line and line[kind]["dataChange"] and before is not None:
                needed.take({"add": line[kind]})
    return needed.needed <= stored_files(root)


# --- undo -------------------------------------------------------------------------------------------------------------


def check_undo(done: Done, opened: explorer.Table) -> None:
    """The undo that is stated can be carried out, and brings the table back but for what it says that stays."""
    text = done.plan.consequences.undo
    steps = undo_intents(text, done.before)
    if not steps:
        assert any(words in text for words in NO_UNDO), f"not understood: {text}"
        return
    opened.refresh()
    for step in steps:
        if not undone(opened, {**_place(done), **step}, text):
            return
    after = raw_state(done.root)
    assert after is not None
    mapped = any(step["kind"] == "set-column-mapping" for step in steps)
    if any(step["kind"] == "restore" for step in steps):
        assert after.files.keys() == done.before.files.keys()
    assert after.domains.keys() - done.before.domains.keys() <= {"delta.rowTracking", "delta.clustering"}
    if mapped:
        return
    for key in after.configuration.keys() | done.before.configuration.keys():
        if after.configuration.get(key) != done.before.configuration.get(key):
            assert key in text, f"{key} changes: {text}"
    for feature in (after.features - done.before.features) if done.before.features else ():
        assert feature in text, f"{feature} stays: {text}"
    assert shape(after.schema) == shape(done.before.schema), text


def undone(opened: explorer.Table, step: dict[str, Any], text: str) -> bool:
    """Carry out a step of an undo; False where what it depends on is not there, which its text says."""
    if step["kind"] == "drop-columns" and not step.get("columns"):
        return False
    plan = opened.plan(step, check_rows=False)
    unknown = [guard.name for guard in plan.guards if guard.status == "unknown"]
    result = opened.commit(opened.plan(step, check_rows=False, accept=unknown))
    blocking = [(guard.name, guard.evidence.get("detail")) for guard in result.plan.blocking]
    if blocking and all(name == "files-exist" for name, _ in blocking):
        return False
    assert result.outcome == "committed", (step, text, blocking)
    return True


def _place(done: Done) -> dict[str, Any]:
    """The column or domain of the intent, where the undo says only what to do with it."""
    return {key: done.intent[key] for key in ("column", "domain") if key in done.intent}


def shape(schema: Any) -> Any:
    """Names, types and nullability of columns, without metadata."""
    if isinstance(schema, dict):
        return {key: shape(value) for key, value in schema.items() if key != "metadata"}
    return [shape(value) for value in schema] if isinstance(schema, list) else schema
