"""What is kept of a history between processes: the answer is that of the log, whatever happened to either of them."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer.storage import open_store
from explorer.storage.index_folder import IndexFolder
from explorer.views import TableFacts
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs import small_logs
from tests.support.logs.same_histories import same
from tests.support.shared_tables import golden_root, reference_root

pytestmark = pytest.mark.sampled(tests=9)

ROOTS = [pytest.param("golden", marks=pytest.mark.golden), pytest.param("reference", marks=pytest.mark.reference)]


def kept_in(folder: Path) -> IndexFolder:
    """A folder that keeps everything at once."""
    return IndexFolder(folder, "test", worth=(1, 0), settled=0)


def opened(root: Path, indexes: IndexFolder) -> tuple[explorer.Table, FaultyStore]:
    """A table that keeps what it reads, and its store, which counts."""
    store = FaultyStore(open_store(root))
    return explorer.Table(store, indexes=lambda: indexes), store


def commits_read(store: FaultyStore) -> int:
    """How many commits were read so far."""
    return sum(int(request.split()[1]) for request in store.requests if request.startswith("read ") and _many(request))


def _many(request: str) -> bool:
    return request.split()[1].isdecimal()


@pytest.mark.parametrize("root", ROOTS)
def test_every_log_is_the_same_out_of_what_is_kept(root: str, tmp_path: Path) -> None:
    tables = (golden_root() if root == "golden" else reference_root()) / "tables"
    indexes, served = kept_in(tmp_path), 0
    for path in some_of(sorted(tables.iterdir()), 40):
        try:
            meant = explorer.open_table(path)
            meant.history()
        except explorer.ExplorerError as error:
            for _ in range(2):
                with pytest.raises(type(error)):
                    opened(path, indexes)[0].history()
            continue
        first, _ = opened(path, indexes)
        same(first, meant)
        again, store = opened(path, indexes)
        again.history()
        served += not commits_read(store)
        same(again, meant)
    assert served >= 25


def grown(source: Path, folder: Path, indexes: IndexFolder, cut: int) -> bool:
    """Keep the beginning of a log, let it grow, and compare; whether only the new commits were read then."""
    (folder / "_delta_log").mkdir(parents=True)
    names = sorted(path.name for path in (source / "_delta_log").iterdir() if path.is_file())
    commits = [name for name in names if len(name) == 25 and name.endswith(".json")]
    late = set(commits[len(commits) - cut :])
    first_late = min(late, default="~")[:20]
    for name in names:
        if name not in late and not (name[:1].isdigit() and name[:20] >= first_late) and name != "_last_checkpoint":
            shutil.copy2(source / "_delta_log" / name, folder / "_delta_log" / name)
    try:
        opened(folder, indexes)[0].history()
    except explorer.ExplorerError:
        return False
    for name in late:
        shutil.copy2(source / "_delta_log" / name, folder / "_delta_log" / name)
    try:
        meant = explorer.open_table(folder)
        meant.history()
    except explorer.ExplorerError:
        return False
    table, store = opened(folder, indexes)
    table.history()
    read = commits_read(store)
    same(table, meant)
    again, store = opened(folder, indexes)
    same(again, meant)
    return read == cut and not commits_read(store)


@pytest.mark.parametrize("root", ROOTS)
def test_a_log_that_grew_is_read_from_where_what_is_kept_ends(root: str, tmp_path: Path) -> None:
    tables = (golden_root() if root == "golden" else reference_root()) / "tables"
    logs = [path for path in sorted(tables.iterdir()) if len(list((path / "_delta_log").glob("*.json"))) > 3]
    found = [grown(path, tmp_path / path.name, kept_in(tmp_path / "kept"), 2) for path in some_of(logs, 20)]
    assert sum(found) >= 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of thirty commits, two of which contradict themselves."""
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    later = [[small_logs.commit_info("WRITE"), small_logs.add(f"f{n}", 1)] for n in range(28)]
    wrong = [small_logs.add("f1", 1), small_logs.remove("f1")]
    return small_logs.write_log(tmp_path / "orders", [created, *later, wrong])


def test_what_is_kept_is_read_without_a_commit_and_other_people_cannot_read_it(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "a" / "kept")
    opened(folder, indexes)[0].history()
    table, store = opened(folder, indexes)
    assert table.history().num_rows == 30
    assert commits_read(store) == 0
    (path,) = (tmp_path / "a" / "kept").iterdir()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_only_the_new_commits_are_read_and_what_follows_is_read_alone(folder: Path, tmp_path: Path) -> None:
    indexes = IndexFolder(tmp_path / "kept", "test", worth=(3, 1 << 40), settled=0)
    opened(folder, indexes)[0].history()
    small_logs.write_log(folder, [[small_logs.add("new", 1)]], 30)
    table, store = opened(folder, indexes)
    table.follow()
    table.history()
    assert commits_read(store) == 1
    small_logs.write_log(folder, [[small_logs.remove("new")]], 31)
    later = table.successor()
    later.history()
    assert commits_read(store) == 2
    same(later, explorer.open_table(folder))


def test_integrity_is_judged_by_the_log_itself(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "kept")
    meant = opened(folder, indexes)[0].contradictions()
    assert [each[:2] for each in meant] == [(29, "added and removed")]
    opened(folder, indexes)[0].history()
    table, store = opened(folder, indexes)
    table.history()
    assert commits_read(store) == 0
    assert table.contradictions() == meant
    assert commits_read(store) == 30
    assert table.contradictions() == meant
    assert commits_read(store) == 30
    store.requests.clear()
    assert table.verify().last_version == 29
    assert len([request for request in store.requests if request.startswith("read")]) > 0


def test_an_audit_that_does_not_wait_leaves_open_what_the_log_has_to_be_read_for(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    table, store = opened(folder, indexes)
    facts = TableFacts(table)
    assert facts.awaits_log
    early = facts.audit(wait=False)
    assert [each.rule.id for each in early.not_answered if "read again" in each.not_answered] == [
        "contradictory-actions"
    ]
    assert commits_read(store) == 30, "the newest version, which has no checkpoint"
    facts.prepare_audit()
    assert not facts.awaits_log
    assert commits_read(store) == 60
    found = facts.audit(wait=False)
    assert found == facts.audit()
    assert [each.rule for each in found.findings if each.rule == "contradictory-actions"] == ["contradictory-actions"]


def test_who_asks_for_integrity_again_pays_for_the_new_commits_alone(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    table, store = opened(folder, indexes)
    table.follow()
    meant = table.contradictions()
    assert commits_read(store) == 30
    small_logs.write_log(folder, [[small_logs.add("f2", 1), small_logs.remove("f2")]], 30)
    later = table.successor()
    found = later.contradictions()
    assert commits_read(store) == 31
    assert (found[:-1], found[-1][0]) == (meant, 30)
    same(later, explorer.open_table(folder))


def test_a_commit_that_is_as_new_as_its_listing_is_not_kept(folder: Path, tmp_path: Path) -> None:
    indexes = IndexFolder(tmp_path / "kept", "test", worth=(1, 0), settled=60)
    opened(folder, indexes)[0].history()
    assert indexes.files() == []


def test_another_version_of_the_program_keeps_for_itself(folder: Path, tmp_path: Path) -> None:
    one, other = (IndexFolder(tmp_path / "kept", name, worth=(1, 0), settled=0) for name in ("1", "2"))
    opened(folder, one)[0].history()
    table, store = opened(folder, other)
    table.history()
    assert commits_read(store) == 30
    for indexes in (one, other):
        table, store = opened(folder, indexes)
        table.history()
        assert commits_read(store) == 0
    assert len(one.files()) == 2


TAMPER = st.sampled_from(["same size", "longer", "swapped", "gone", "put back"])


@settings(
    max_examples=300 if WHOLE_DOSE else 15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(kind=TAMPER, version=st.integers(0, 29), seed=st.integers(0, 99))
def test_a_log_that_was_rewritten_in_place_is_noticed(
    folder: Path, tmp_path: Path, kind: str, version: int, seed: int
) -> None:
    place = tmp_path / f"{kind}-{version}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place / "orders")
    indexes = kept_in(place / "kept")
    opened(place / "orders", indexes)[0].history()
    _tamper(place / "orders" / "_delta_log", kind, version, random.Random(seed))
    try:
        meant = explorer.open_table(place / "orders")
        meant.history()
    except explorer.ExplorerError as error:
        with pytest.raises(type(error)):
            opened(place / "orders", indexes)[0].history()
        return
    same(opened(place / "orders", indexes)[0], meant)


def _tamper(log: Path, kind: str, version: int, chance: random.Random) -> None:
    """Rewrite a commit; its size and times stay as they were where they can."""
    path = log / f"{version:020}.json"
    before = path.stat()
    match kind:
        case "same size":
            path.write_bytes(path.read_bytes().replace(b'"size":1', b'"size":%d' % chance.randint(2, 9)))
        case "longer":
            path.write_bytes(path.read_bytes() + small_logs.lines([small_logs.add("more", 1)]))
        case "swapped":
            other = log / f"{(version + 1) % 30:020}.json"
            mine, its = path.read_bytes(), other.read_bytes()
            path.write_bytes(its)
            other.write_bytes(mine)
        case "gone":
            path.unlink()
            return
        case _:
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@settings(
    max_examples=2000 if WHOLE_DOSE else 25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(place=st.floats(0, 1, exclude_max=True), kind=st.sampled_from(["flip", "cut", "zeros", "empty"]))
def test_an_index_that_is_broken_at_any_byte_changes_nothing(
    folder: Path, tmp_path: Path, place: float, kind: str
) -> None:
    indexes, meant = kept_in(tmp_path / "kept"), explorer.open_table(folder)
    indexes.clear()
    opened(folder, indexes)[0].history()
    (path,) = (tmp_path / "kept").iterdir()
    data = bytearray(path.read_bytes())
    at = int(place * len(data))
    match kind:
        case "flip":
            data[at] ^= 1 << (at % 8)
        case "cut":
            data = data[:at]
        case "zeros":
            data[at : at + 100] = bytes(len(data[at : at + 100]))
        case _:
            data = bytearray()
    path.unlink()
    path.write_bytes(data)
    same(opened(folder, indexes)[0], meant)
    small_logs.write_log(folder, [[small_logs.add("after", 1)]], 30)
    try:
        same(opened(folder, indexes)[0], explorer.open_table(folder))
    finally:
        (folder / "_delta_log" / f"{30:020}.json").unlink()


@pytest.fixture
def refusing(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder in which nothing can be kept."""
    place = tmp_path / "refusing"
    if request.param == "a file":
        place.write_text("not a folder")
        yield place
    elif request.param == "full":
        yield Path("/dev/full")
    else:
        yield Path("/proc/refusing/kept")


@pytest.mark.parametrize("refusing", ["a file", "full", "read-only"], indirect=True)
def test_a_folder_that_takes_nothing_changes_nothing(
    folder: Path, refusing: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", "explorer.storage.index_folder"):
        same(opened(folder, kept_in(refusing))[0], explorer.open_table(folder))
    # Pages of other tests in this process log too: Panel sets its own log to DEBUG, and says sessions at INFO.
    said = [record for record in caplog.records if record.name.startswith("explorer")]
    assert any("Nothing is kept of" in record.message for record in said)
    assert {record.levelname for record in said} == {"DEBUG"}


def test_a_kept_table_of_commits_is_read_without_their_lines(tmp_path: Path) -> None:
    small_logs.write_log(tmp_path / "table", [[small_logs.PROTOCOL, small_logs.METADATA], [small_logs.add("a")]])
    indexes = kept_in(tmp_path / "kept")
    meant = opened(tmp_path / "table", indexes)[0].history()
    again = opened(tmp_path / "table", indexes)[0]
    assert again.history().equals(meant)
    assert again.history_record().cached
    assert "commits" not in vars(again.history_record()), "the lines of all commits were decoded for nothing"
