"""Deleting data files: what is needed stays, in whatever spelling; what goes was planned and is still unused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent, NotAllowed
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.maintenance.vacuum import plan_vacuum
from explorer.core.protocol.actions import Action, AddCDCFile, DeletionVectorDescriptor, Metadata, Protocol, Remove
from explorer.core.protocol.deletion_vectors import location, z85_encode
from explorer.core.transaction.commit_plan import CommitPlan, Consequences
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, new_store, write

NOW = int(time.time() * 1000)
DAY = 86_400_000
VACUUM = {"kind": "vacuum"}

Made = Callable[..., explorer.Table]


def gone(path: str, days: float | None, vector: DeletionVectorDescriptor | None = None) -> Remove:
    """The removal of a file so many days ago; one that does not say when where it is None."""
    when = None if days is None else NOW - int(days * DAY)
    return Remove(path=path, deletion_timestamp=when, deletion_vector=vector)


def stored(name: str, offset: int = 1, prefix: str = "") -> DeletionVectorDescriptor:
    """A vector in a file beside the data, whose name is an id of one letter sixteen times."""
    return DeletionVectorDescriptor("u", prefix + z85_encode(name.encode() * 16), 34, 1, offset)


def file_of(vector: DeletionVectorDescriptor) -> str:
    found = location(vector.id)
    assert found is not None
    return found


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Make a table of commits with files of so many days (30 if nothing else is said) that are there."""

    def make(commits: Iterable[Iterable[Action]], files: Iterable[str], **days: float) -> explorer.Table:
        folder = tmp_path / "table"
        folder.mkdir()
        write(open_store(folder), dict(enumerate(commits)))
        for name in files:
            place(folder, name, days.get(name.replace(".", "_"), 30))
        return explorer.open_table(folder)

    return make


def place(folder: Path, name: str, days: float = 30) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"PAR1")
    os.utime(file, (time.time() - days * 86_400,) * 2)


def root_of(table: explorer.Table) -> Path:
    return Path(table.location.removeprefix("file://"))


def left(table: explorer.Table) -> set[str]:
    """Keys of what is there beside the log."""
    root = root_of(table)
    found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    return {key for key in found if not key.startswith("_delta_log/")}


def statuses(plan: CommitPlan) -> dict[str, str]:
    return {guard.name: guard.status for guard in plan.guards}


def vacuumed(table: explorer.Table, **intent: str) -> set[str]:
    """What is left after a clean-up of data files that nothing stands against."""
    plan = table.plan(VACUUM | intent)
    result = table.commit(plan)
    recorded = 2 if plan.files else 0
    assert (result.outcome, len(result.recorded)) == ("committed", recorded)
    return left(table)


@pytest.mark.conformance("VACUUM-001", "FILE-014")
def test_a_file_goes_once_nothing_has_needed_it_for_the_retention(made: Made) -> None:
    first = (PROTOCOL, METADATA, add("live"), add("young"), add("old"), add("untimed"))
    second = (gone("young", 6.9), gone("old", 7.1), gone("untimed", None))
    files = ("live", "young", "old", "untimed", "never-committed", "being-written")
    table = made([first, second], files, **{"being-written": 6.9})
    plan = table.plan(VACUUM)
    assert [(file.path, file.change, file.size, file.reason) for file in plan.files] == [
        ("never-committed", "delete", 4, "no action of the log names it"),
        ("old", "delete", 4, "not needed since version 1"),
        ("untimed", "delete", 4, "not needed since version 1"),
    ]
    assert statuses(plan) == {
        **dict.fromkeys(("protocol-allows-writer", "retention", "live-files"), "pass"),
        "time-travel": "warn",
    }
    assert left(table) == set(files)
    assert table.commit(plan).plan.files == plan.files
    assert left(table) == {"live", "young", "being-written"}
    assert table.latest_version() == 3
    again = table.plan(VACUUM)
    assert (again.files, statuses(again)["something-to-do"]) == ((), "warn")


def test_a_plan_says_which_versions_it_takes(made: Made) -> None:
    commits = [(PROTOCOL, METADATA, add("a")), (add("b"),), (gone("a", 9),), (gone("b", 8), add("c")), (add("d"),)]
    table = made(commits, "abcd")
    plan = table.plan(VACUUM)
    assert plan.consequences.time_travel == "Versions 0 to 2 can no longer be read."
    assert "backup" in plan.consequences.undo
    assert statuses(plan)["time-travel"] == "warn"
    table.commit(plan)
    found = table.retention(datetime.now(UTC)).column("status").to_pylist()
    assert found == ["data gone"] * 3 + ["readable"] * 4
    # What is lost already is not lost again.
    place(root_of(table), "e")
    assert table.plan(VACUUM).consequences.time_travel == "No version is lost."


@pytest.mark.conformance("VACUUM-002")
def test_a_file_of_vectors_stays_while_one_of_them_is_needed(made: Made) -> None:
    shared, young, expired, inside = stored("s"), stored("y"), stored("x"), stored("i", prefix="ab")
    other = msgspec.structs.replace(shared, offset=90)
    commits = [
        (MASKED, METADATA, *(add(name) for name in "abcde")),
        (gone("a", 9), add("a", vector=shared), gone("b", 9), add("b", vector=other)),
        (gone("c", 9), add("c", vector=young), gone("d", 9), add("d", vector=expired), add("e", vector=inside)),
        (gone("b", 8, other), add("b"), gone("c", 1, young), add("c"), gone("d", 8, expired), add("d")),
    ]
    vectors = [file_of(vector) for vector in (shared, young, expired, inside)]
    assert vacuumed(made(commits, [*"abcde", *vectors])) == {*"abcde", *vectors} - {file_of(expired)}


def test_vectors_at_absolute_places_inside_the_table_stay(made: Made, tmp_path: Path) -> None:
    vector = DeletionVectorDescriptor("p", (tmp_path / "table" / "my vector.bin").as_uri(), 34, 1, 1)
    commits = [(MASKED, METADATA, add("a", vector=vector))]
    assert vacuumed(made(commits, ["a", "my vector.bin", "other.bin"])) == {"a", "my vector.bin"}


@pytest.mark.conformance("VACUUM-003")
def test_hidden_names_stay_but_change_files_and_partition_folders_do_not(made: Made) -> None:
    schema = {"name": "_p", "type": "string", "nullable": True, "metadata": {}}
    text = METADATA.schema_string or ""
    metadata = Metadata(
        id=METADATA.id,
        schema_string=text.replace('"fields":[', f'"fields":[{msgspec.json.encode(schema).decode()},'),
        partition_columns=("_p",),
    )
    kept = [
        "_p=1/live",
        "_hidden",
        ".hidden",
        "_folder/x",
        ".folder/deep/x",
        "sub/_x",
        "_q=1/x",
        "_p=1/_x",
        "_delta_log/x",
    ]
    deleted = [
        "_p=1/old",
        "_p=__HIVE_DEFAULT_PARTITION__/x",
        "_change_data/x",
        "_change_data/_p=1/x",
        "sub/x",
        "_delta_index/x",
    ]
    table = made([(PROTOCOL, metadata, add("_p=1/live"))], [*kept, *deleted])
    assert sorted(file.path for file in table.plan(VACUUM).files) == sorted(deleted)
    assert vacuumed(table) == {*kept} - {"_delta_log/x"}
    assert (root_of(table) / "_delta_log" / "x").exists()


def test_checksums_of_hadoop_go_with_their_files_alone(made: Made) -> None:
    files = ["live", "p=1/old", "never", "young", "deep/.named.crc", "deep/named"]
    shadows = [".live.crc", "p=1/.old.crc", ".never.crc", ".young.crc", ".alone.crc", "..never.crc.crc"]
    first = (PROTOCOL, METADATA, add("live"), add("p=1/old"), add("deep/.named.crc"))
    table = made([first, (gone("p=1/old", 9),)], [*files, *shadows], young=1)
    plan = table.plan(VACUUM)
    reasons = {file.path: file.reason for file in plan.files}
    assert set(reasons) == {"p=1/old", "never", "p=1/.old.crc", ".never.crc", "deep/named"}
    assert reasons[".never.crc"] == "Hadoop's checksum of a deleted file"
    assert table.commit(plan).outcome == "committed"
    assert left(table) == {*files, *shadows} - set(reasons)


@pytest.mark.conformance("VACUUM-004")
@pytest.mark.parametrize("also", [(), ("vacuumProtocolCheck",)])
def test_a_writer_that_does_not_know_all_features_deletes_nothing(made: Made, also: tuple[str, ...]) -> None:
    protocol = Protocol(
        min_reader_version=3 if also else 1,
        min_writer_version=7,
        reader_features=also or None,
        writer_features=("zeta", *also),
    )
    table = made([(protocol, METADATA, add("live"))], ["live", "unused"])
    assert table.snapshot().num_files == 1
    plan = table.plan(VACUUM)
    assert (statuses(plan), plan.files) == ({"protocol-allows-writer": "fail"}, ())
    assert plan.consequences == Consequences(undo="Nothing is done.")
    assert table.commit(plan).outcome == "rejected"
    assert left(table) == {"live", "unused"}


def test_a_table_with_the_check_is_cleaned_by_whoever_knows_it(made: Made) -> None:
    both = ("vacuumProtocolCheck",)
    protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=both, writer_features=both)
    assert vacuumed(made([(protocol, METADATA, add("live"))], ["live", "unused"])) == {"live"}


@pytest.mark.conformance("VACUUM-001")
@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("a%20b", "a b"),
        ("%61", "a"),
        ("./a", "a"),
        ("x/../a", "a"),
        ("p=a%25b/c", "p=a%b/c"),
        ("p=12:30/c", "p=12:30/c"),
        ("{root}/a", "a"),
        ("file:{root}/a", "a"),
        ("file://{root}/a%20b", "a b"),
        ("file://localhost{root}/a", "a"),
        ("{link}/a", "a"),
        ("file://{link}/deep/a", "deep/a"),
    ],
)
def test_a_needed_file_stays_however_the_log_spells_it(made: Made, tmp_path: Path, spelled: str, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "table")
    text = spelled.format(root=tmp_path / "table", link=tmp_path / "link")
    commits = [(PROTOCOL, METADATA, add("sure")), (add(text),), (gone(text, 1),)]
    assert vacuumed(made(commits, ["sure", name, "unused"])) == {"sure", name}


def test_files_of_another_table_are_never_touched(made: Made, tmp_path: Path) -> None:
    place(tmp_path, "origin/a")
    foreign = (tmp_path / "origin" / "a").as_uri()
    table = made([(PROTOCOL, METADATA, add(foreign), add("own")), (gone(foreign, 30),)], ["own", "unused", "inner/x"])
    write(open_store(tmp_path / "table" / "inner"), {0: (PROTOCOL, METADATA, add("x"))})
    (tmp_path / "table" / "out").symlink_to(tmp_path / "origin")
    (tmp_path / "table" / "again").symlink_to(tmp_path / "table" / "twice")
    place(tmp_path, "table/twice/x")
    plan = table.plan(VACUUM)
    assert [file.path for file in plan.files] == ["unused"]
    assert statuses(plan)["other-tables"] == "warn"
    assert {"own", "inner/x", "twice/x"} <= vacuumed(table)
    assert (tmp_path / "origin" / "a").exists()


@pytest.mark.parametrize(
    ("configuration", "intent", "guard"),
    [
        ({}, {}, "pass"),
        ({}, {"olderThan": "interval 6 days"}, "fail"),
        ({}, {"olderThan": "interval 20 days"}, "pass"),
        ({}, {"olderThan": "2100-01-01T00:00:00Z"}, "fail"),
        ({}, {"olderThan": "2020-01-01T00:00:00Z"}, "pass"),
        ({"delta.deletedFileRetentionDuration": "interval 1 day"}, {"olderThan": "interval 1 day"}, "pass"),
        ({"delta.deletedFileRetentionDuration": "interval 40 days"}, {}, "pass"),
        ({"delta.deletedFileRetentionDuration": "interval 40 days"}, {"olderThan": "interval 1 week"}, "fail"),
    ],
)
def test_it_keeps_to_what_the_table_states(
    made: Made, configuration: dict[str, str], intent: dict[str, str], guard: str
) -> None:
    metadata = msgspec.structs.replace(METADATA, configuration=configuration)
    table = made([(PROTOCOL, metadata, add("live"))], ["live", "unused"])
    plan = table.plan(VACUUM | intent)
    assert statuses(plan)["retention"] == guard
    kept = guard == "fail" or "40" in str(configuration) or "2020" in str(intent)
    assert table.commit(plan).outcome == ("rejected" if guard == "fail" else "committed")
    assert left(table) == ({"live", "unused"} if kept else {"live"})


@pytest.mark.parametrize("text", ["", "soon", "2026-13-02T14:05:11"])
def test_an_age_that_is_none_is_refused(made: Made, text: str) -> None:
    table = made([(PROTOCOL, METADATA)], [])
    with pytest.raises(InvalidIntent) as refused:
        table.plan(VACUUM | {"olderThan": text})
    assert refused.value.field == "olderThan"


def test_a_longer_age_counts_removals_that_a_checkpoint_dropped(made: Made) -> None:
    commits = [(PROTOCOL, METADATA, add("a"), add("b")), (gone("a", 20),), (gone("b", 40),)]
    table = made(commits, "ab", a=60, b=60)
    write_checkpoint(table.store, 2, [PROTOCOL, METADATA], "classic")
    assert vacuumed(explorer.open_table(root_of(table)), olderThan="interval 30 days") == {"a"}


def test_removals_are_read_from_a_checkpoint(made: Made) -> None:
    commits = [(PROTOCOL, METADATA, add("live")), (add("young"),), (add("old"),)]
    table = made(commits, ["live", "young", "old", "v.bin"])
    vector = DeletionVectorDescriptor("p", (root_of(table) / "v.bin").as_uri(), 34, 1, 1)
    state = [PROTOCOL, METADATA, add("live"), gone("young", 1, vector), gone("old", 8)]
    write_checkpoint(table.store, 2, state, "classic")
    for version in range(3):
        table.store.delete(commit_name(version))
    assert table.store.head(checkpoint_name(2)).size
    assert vacuumed(explorer.open_table(root_of(table))) == {"live", "young", "v.bin"}


@pytest.mark.conformance("VACUUM-001")
def test_change_files_go_by_their_age_and_that_of_their_commit(made: Made) -> None:
    metadata = msgspec.structs.replace(METADATA, configuration={"delta.enableChangeDataFeed": "true"})
    changes = [AddCDCFile(path=f"_change_data/{name}", partition_values={}, size=4) for name in ("old", "new")]
    rules = Protocol(min_reader_version=1, min_writer_version=4)
    commits = [(rules, metadata, add("a")), (gone("a", 9), add("b"), changes[0]), (changes[1], add("c"))]
    table = made(commits, ["a", "b", "c", "_change_data/old", "_change_data/new"])
    aged = time.time() - 9 * 86_400
    os.utime(root_of(table) / commit_name(1), (aged, aged))
    plan = table.plan(VACUUM)
    reasons = {file.path: file.reason for file in plan.files}
    assert reasons == {"_change_data/old": "changes that version 1 recorded", "a": "not needed since version 1"}
    assert plan.consequences.change_feed == "Versions 0 to 1 can no longer be read in the change data feed."
    assert vacuumed(table) == {"b", "c", "_change_data/new"}


def test_a_folder_that_is_not_the_table_s_is_left(made: Made) -> None:
    table = made([(PROTOCOL, METADATA, add("a"), add("b"))], ["A", "B"])
    plan = table.plan(VACUUM)
    assert statuses(plan)["live-files"] == "fail"
    place(root_of(table), "a")
    plan = table.plan(VACUUM)
    assert (statuses(plan)["live-files"], plan.committable) == ("unknown", False)
    assert table.plan(VACUUM, accept=["live-files"]).committable
    assert table.commit(plan).outcome == "rejected"
    assert left(table) == {"a", "A", "B"}


def test_a_file_that_is_named_again_after_the_plan_stays(made: Made) -> None:
    table = made([(PROTOCOL, METADATA, add("a"), add("b")), (gone("b", 9),)], ["a", "b", "unused"])
    plan = table.plan(VACUUM)
    assert {file.path for file in plan.files} == {"b", "unused"}
    write(table.store, {2: (add("b"),)})
    assert [file.path for file in table.commit(plan).plan.files] == ["unused"]
    assert left(table) == {"a", "b"}


def test_a_file_that_is_named_again_while_others_are_deleted_stays(made: Made) -> None:
    names = [f"f{number:04}" for number in range(1_001)]
    table = made([(PROTOCOL, METADATA, add("a")), *[tuple(gone(name, 9) for name in names)]], ["a", *names])

    def between(number: int) -> None:
        if store.requests[number] == "delete 1000":
            write(store.inner, {3: (add(names[-1]),)})

    store = FaultyStore(table.store, between=between)
    other = explorer.Table(store)
    assert len(other.commit(other.plan(VACUUM)).plan.files) == 1_000
    assert left(table) == {"a", names[-1]}


def test_a_commit_while_files_are_deleted_that_names_none_of_them_keeps_none(made: Made) -> None:
    names = [f"f{number:04}" for number in range(1_001)]
    table = made([(PROTOCOL, METADATA, *map(add, ["a", *names])), [gone(name, 9) for name in names]], ["a", *names])

    def between(number: int) -> None:
        if store.requests[number] == "delete 1000":
            write(store.inner, {3: (add("a"),)})

    store = FaultyStore(table.store, between=between)
    other = explorer.Table(store)
    assert len(other.commit(other.plan(VACUUM)).plan.files) == 1_001
    assert left(table) == {"a"}


def test_changes_of_a_commit_at_the_cut_off_stay(made: Made) -> None:
    metadata = msgspec.structs.replace(METADATA, configuration={"delta.enableChangeDataFeed": "true"})
    change = AddCDCFile(path="_change_data/x", partition_values={}, size=4)
    table = made([(PROTOCOL, metadata), (change,)], ["_change_data/x"])
    cutoff = datetime(2026, 3, 2, tzinfo=UTC)
    for moment, planned in at_least_one(((cutoff.timestamp() - 0.001, ["_change_data/x"]), (cutoff.timestamp(), []))):
        os.utime(root_of(table) / commit_name(1), (moment, moment))
        place(root_of(table), "_change_data/x", 300)
        found = plan_vacuum(explorer.open_table(root_of(table)), datetime(2026, 4, 2, tzinfo=UTC), cutoff)
        assert [file.path for file in found.files] == planned


@pytest.mark.parametrize("formats", ["", "iceberg"])
def test_the_metadata_of_iceberg_stays_where_it_is_written(made: Made, formats: str) -> None:
    configuration = {"delta.universalFormat.enabledFormats": formats} if formats else {}
    metadata = msgspec.structs.replace(METADATA, configuration=configuration)
    table = made([(PROTOCOL, metadata, add("a"))], ["a", "metadata/v1.metadata.json"])
    plan = table.plan(VACUUM)
    assert [file.path for file in plan.files] == ([] if formats else ["metadata/v1.metadata.json"])


def test_it_is_refused_on_a_table_opened_for_reading() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)})
    table = explorer.Table(store, read_only=True)
    with pytest.raises(NotAllowed):
        table.commit(table.plan(VACUUM))


def test_objects_of_a_store_are_cleaned_in_the_same_way() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("p=1/a b".replace(" ", "%20"))), 1: (gone("b", 1),)})
    for key in ("p=1/a b", "b", "unused", "_kept"):
        store.put_if_absent(key, b"1234")
    table = explorer.Table(store)
    assert table.plan(VACUUM).files == ()
    assert sorted(store.list_files().column("path").to_pylist())[-4:] == ["_kept", "b", "p=1/a b", "unused"]
    store.delete_many(["unused", "not there"])
    assert "unused" not in set(store.list_tree())
