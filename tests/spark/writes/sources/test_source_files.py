"""The files of a source, byte by byte: any change is seen, and the digest is the one that ``sha256sum`` gives."""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.core.errors import RequestError, StorageError
from explorer.spark.writes.source_files import FileStates, SourcePlace
from tests.support.at_least_one import at_least_one

ROWS = b"id,amount\n1,2\n3,4\n"
OTHER = b"id,amount\n1,2\n3,9\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rows"
    (folder / "day=1").mkdir(parents=True)
    for name in ("a.csv", "day=1/b.csv", "day=1/_skipped"):
        (folder / name).write_bytes(ROWS + name.encode())
    return folder


def states(source: Path) -> FileStates:
    return SourcePlace.of(str(source)).states()


def digest(source: Path | str) -> tuple[int, int, str]:
    place = SourcePlace.of(str(source))
    content = place.content(place.states())
    assert content is not None
    found = content()
    return found.files, found.bytes, found.sha256


def test_the_digest_of_a_file_is_its_own(folder: Path) -> None:
    file = folder / "a.csv"
    assert digest(file) == (1, file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    assert digest(file.as_uri()) == digest(file)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the coreutils are not installed")
def test_the_digest_of_a_folder_is_that_of_the_output_of_sha256sum(folder: Path) -> None:
    (folder / "with\nan end\\of a line.csv").write_bytes(ROWS)
    (folder / "link.csv").symlink_to(folder / "a.csv")
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    printed = subprocess.run(["sha256sum", "--", *names], cwd=folder, capture_output=True, check=True).stdout
    assert digest(folder)[::2] == (len(names), hashlib.sha256(printed).hexdigest())


def rewritten(folder: Path) -> None:
    """Write other rows of the same size, and set the time of the file back."""
    file = folder / "a.csv"
    status = file.stat()
    file.write_bytes(file.read_bytes().replace(b"3,4", b"3,9"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(folder: Path) -> None:
    """Put another file of the same name, size, and time in the place of one."""
    file, other = folder / "a.csv", folder.parent / "other.csv"
    status = file.stat()
    other.write_bytes(file.read_bytes().replace(b"3,4", b"3,9"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)


def linked(folder: Path) -> None:
    other = folder.parent / "other.csv"
    other.write_bytes((folder / "a.csv").read_bytes().replace(b"3,4", b"3,9"))
    (folder / "a.csv").unlink()
    (folder / "a.csv").symlink_to(other)


def behind_a_link(folder: Path) -> None:
    """Add rows to a partition that is a link to a folder elsewhere, which Spark follows."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.csv").write_bytes(ROWS)
    (folder / "day=2").symlink_to(elsewhere)


CHANGES: tuple[Callable[[Path], None], ...] = (
    rewritten,
    replaced,
    linked,
    behind_a_link,
    lambda folder: (folder / "day=1" / "c.csv").write_bytes(ROWS) and None,
    lambda folder: (folder / "day=1" / "b.csv").unlink(),
    lambda folder: (folder / "day=1" / "b.csv").rename(folder / "day=1" / "c.csv") and None,
    lambda folder: (folder / "day=1").rename(folder / "day=3") and None,
)


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_gives_another_digest_and_other_states(folder: Path, change: Callable[[Path], None]) -> None:
    seen, before = states(folder), digest(folder)
    change(folder)
    assert states(folder) != seen
    assert digest(folder) != before


def rewritten_and_back(folder: Path) -> None:
    file = folder / "a.csv"
    status = file.stat()
    rewritten(folder)
    file.write_bytes(file.read_bytes().replace(b"3,9", b"3,4"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced_and_back(folder: Path) -> None:
    kept = folder.parent / "kept.csv"
    kept.hardlink_to(folder / "a.csv")
    replaced(folder)
    kept.replace(folder / "a.csv")


def partition_swapped_and_back(folder: Path) -> None:
    """Let another folder have the name of a partition for a while."""
    other, kept = folder.parent / "other", folder.parent / "kept"
    other.mkdir()
    (other / "b.csv").write_bytes(OTHER)
    (folder / "day=1").rename(kept)
    other.rename(folder / "day=1")
    (folder / "day=1").rename(other)
    kept.rename(folder / "day=1")


def link_turned_and_back(folder: Path) -> None:
    """Let a link of the source lead to another file for a while; neither of the two files is touched."""
    good, link = folder.parent / "good.csv", folder / "linked.csv"
    for target in (folder.parent / "bad.csv", good):
        link.unlink()
        link.symlink_to(target)


@pytest.mark.parametrize(
    "change", [rewritten_and_back, replaced_and_back, partition_swapped_and_back, link_turned_and_back]
)
def test_what_was_changed_and_put_back_leaves_a_mark(folder: Path, change: Callable[[Path], None]) -> None:
    """Somebody changes a source for the moment in which Spark reads it."""
    (folder.parent / "good.csv").write_bytes(ROWS)
    (folder.parent / "bad.csv").write_bytes(OTHER)
    (folder / "linked.csv").symlink_to(folder.parent / "good.csv")
    seen, before = states(folder), digest(folder)
    change(folder)
    assert digest(folder) == before
    assert states(folder) != seen


def test_a_link_to_a_source_is_followed_once(folder: Path) -> None:
    """What was looked up is what is read, also if the link leads elsewhere before Spark opens it."""
    link, other = folder.parent / "link", folder.parent / "other"
    shutil.copytree(folder, other)
    (other / "a.csv").write_bytes(OTHER)
    link.symlink_to(folder)
    place = SourcePlace.of(str(link))
    link.unlink()
    link.symlink_to(other)
    assert place.real == str(folder.resolve())
    content = place.content(place.states())
    assert content is not None
    assert content().sha256 == digest(folder)[2] != digest(other)[2]


def test_what_is_no_file_cannot_be_bound(folder: Path) -> None:
    """Whoever holds the other end of a pipe decides what is read."""
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(RequestError, match="neither a file nor a folder"):
        digest(folder)


def test_a_link_that_leads_back_ends(folder: Path) -> None:
    (folder / "day=1" / "up").symlink_to(folder)
    (folder / "day=1" / "self").symlink_to("self")
    assert digest(folder)[0] == 3


def test_what_is_not_on_this_machine_cannot_be_bound(tmp_path: Path) -> None:
    for source in at_least_one(("s3://bucket/rows.parquet", str(tmp_path / "nothing.csv"))):
        place = SourcePlace.of(source)
        content = place.content(place.states())
        assert content is not None
        with pytest.raises(RequestError, match="not on this machine") as refused:
            content()
        assert refused.value.field == "source"


def test_a_source_that_is_gone_since_contains_nothing(folder: Path) -> None:
    place = SourcePlace.of(str(folder))
    content = place.content(place.states())
    assert content is not None
    shutil.rmtree(folder)
    assert content().files == 0


@pytest.mark.skipif(os.getuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_said(folder: Path) -> None:
    (folder / "a.csv").chmod(0)
    with pytest.raises(StorageError, match=r"a\.csv cannot be read"):
        digest(folder)


def test_rows_that_come_from_no_file_have_no_content() -> None:
    assert SourcePlace.of(object()).content(()) is None


@pytest.mark.parametrize("wanted", ["a.csv", ""])
def test_rows_written_through_mapped_memory_leave_a_mark(folder: Path, wanted: str) -> None:
    """Of memory that was written to before, the system notes nothing until it is in the file."""
    file = folder / "a.csv"
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
        os.fsync(opened.fileno())
        before = file.stat().st_ctime_ns
        at = memory.find(b"4")
        memory[at : at + 1] = b"5"
        if file.stat().st_ctime_ns == before:
            pytest.skip("this file system notes nothing of what is written through memory")
        place = SourcePlace.of(str(folder / wanted))
        seen = place.states()
        content = place.content(seen)
        assert content is not None
        first = content()
        memory[at : at + 1] = b"9"
        assert b"3,9" in file.read_bytes()
        assert place.states() != seen
        assert content() != first


@pytest.mark.skipif(os.getuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed_is_said(folder: Path) -> None:
    """Its rows would count as none, and be there for a moment while Spark reads."""
    (folder / "day=1").chmod(0)
    try:
        with pytest.raises(StorageError, match="cannot be read"):
            states(folder)
    finally:
        (folder / "day=1").chmod(0o700)
