"""Files of a person at the command line that another program replaces between the check, the read, and the write."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import explorer
from explorer.auditing.document import audit_document
from explorer.auditing.options import AuditOptions
from explorer.cli.report_files import save_whole, signing_key
from explorer.fleet.record import AuditRecord
from explorer.spark.engine.java import cache_folder
from explorer.storage.index_folder import IndexFolder
from explorer.system import my_clients
from tests.cli.conftest import Call
from tests.support.logs import small_logs

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems open a file by its path each time")
OTHERS = b"a file of someone else\n"
RULES = '[[tripwire]]\nname = "any"\nwhen = "rows-removed"\nshare = 0.2\n'


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """A file that nothing here may change."""
    (tmp_path / "others").write_bytes(OTHERS)
    return tmp_path / "others"


def table(folder: Path) -> Path:
    return small_logs.write_log(folder, [[small_logs.PROTOCOL, small_logs.METADATA]])


def swap(file: Path, other: Path) -> None:
    """Put a link in a file's place."""
    file.rename(file.with_name(f"{file.name}-before"))
    file.symlink_to(other)


def test_the_state_of_tripwires_is_not_written_through_a_link_beside_it(
    cli: Call, tmp_path: Path, others: Path
) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    for link in ("state.json.part", ".state.json.tmp", "state.json"):
        (tmp_path / link).symlink_to(others)
    others.write_bytes(b"{}")
    ran = cli(
        "tripwires", table(tmp_path / "t"), "--rules", tmp_path / "rules.toml", "--state", tmp_path / "state.json"
    )
    assert ran.code == 0, ran.err
    assert others.read_bytes() == b"{}"
    assert msgspec.json.decode((tmp_path / "state.json").read_bytes()) != {}


@linux
@pytest.mark.parametrize("when", ["read", "written to"])
def test_a_record_of_audits_cuts_and_writes_the_file_that_it_read(
    tmp_path: Path, others: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    record, now = tmp_path / "record", datetime.now(UTC)
    document = audit_document(explorer.open_table(table(tmp_path / "t")).audit(), "file:///t")
    with AuditRecord(record, AuditOptions(), now) as first:
        first.add("file:///t", "", document)
    whole = record.read_bytes()
    record.write_bytes(whole + b'{"cut off')
    opened = Path.open

    def then_swapped(self: Path, *arguments: Any, **named: Any) -> Any:
        file = opened(self, *arguments, **named)
        if self == record:
            monkeypatch.undo()
            swap(record, others)
        return file

    if when == "read":
        monkeypatch.setattr(Path, "open", then_swapped)
    with AuditRecord(record, AuditOptions(), now) as second:
        if when == "written to":
            swap(record, others)
        second.add("file:///u", "", document)
        assert second.document("file:///t", "") == document
    assert others.read_bytes() == OTHERS
    lines = (tmp_path / "record-before").read_bytes()
    assert lines.startswith(whole)
    assert lines.count(b"\n") == 2


def test_a_file_of_clients_that_takes_the_place_of_another_is_read(tmp_path: Path) -> None:
    place = tmp_path / "clients.toml"
    for name in ("ana", "ben"):
        other = tmp_path / name
        other.write_text(f'[[client]]\nname = "Athena"\nowner = "{name}"\n')
        os.utime(other, ns=(10**18, 10**18))
        other.replace(place)
        assert [client.owner for client in my_clients(place)] == [name]


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.OpenSSH])
def test_a_signature_bears_the_name_of_its_own_key_alone(tmp_path: Path, form: PrivateFormat) -> None:
    mine, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(mine.private_bytes(Encoding.PEM, form, NoEncryption()))
    names = {}
    for owner, private in (("ana@example", mine), ("ben@example", other)):
        public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        (tmp_path / "key.pub").write_bytes(public + f" {owner}\n".encode())
        key = signing_key(tmp_path / "key")
        assert key is not None
        names[owner] = key.signer.comment
    assert names == {"ana@example": "ana@example", "ben@example": ""}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"ssh-ed25519", b"ssh-ed25519 AAAA x", b"-----BEGIN PUBLIC KEY"])
def test_a_public_key_that_is_none_names_nobody(tmp_path: Path, content: bytes) -> None:
    private = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "key.pub").write_bytes(content)
    key = signing_key(tmp_path / "key")
    assert key is not None
    assert key.signer.comment == ""


@linux
def test_a_report_goes_to_the_folder_that_was_opened(
    tmp_path: Path, others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "report.html").symlink_to(others)
    (tmp_path / "reports").mkdir()
    flush = os.fsync

    def swapped(handle: int) -> None:
        monkeypatch.undo()
        flush(handle)
        swap(tmp_path / "reports", tmp_path / "elsewhere")

    monkeypatch.setattr(os, "fsync", swapped)
    save_whole(tmp_path / "reports" / "report.html", b"new")
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == ["report.html"]
    assert others.read_bytes() == OTHERS
    assert [file.read_bytes() for file in (tmp_path / "reports-before").iterdir()] == [b"new"]


@linux
def test_a_folder_that_may_be_written_to_and_not_listed_takes_a_report(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir(mode=0o300)
    save_whole(tmp_path / "box" / "report.html", b"new")
    assert (tmp_path / "box" / "report.html").read_bytes() == b"new"


@linux
@pytest.mark.parametrize("moment", ["stat", "open"])
def test_a_cached_log_of_another_user_is_not_read_in_the_place_of_the_checked_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folders = [IndexFolder(tmp_path / name, "1", worth=(0, 0), settled=0) for name in ("cache", "forged")]
    location = (tmp_path / "table").as_uri()
    for folder, value in zip(folders, (1, 2), strict=True):
        folder.keep(location, [], lambda value=value: {"rows": pa.table({"a": [value]})})  # type: ignore[misc]
    (mine,), (forged,) = ((tmp_path / name).iterdir() for name in ("cache", "forged"))
    forged.chmod(0o666)
    real = getattr(Path, moment)

    def swapped(self: Path, *arguments: Any, **named: Any) -> Any:
        found = real(self, *arguments, **named)
        if self == mine:
            monkeypatch.undo()
            forged.replace(mine)
        return found

    monkeypatch.setattr(Path, moment, swapped)
    index = folders[0].find(location)
    assert index is None or index.table("rows") == pa.table({"a": [1]})


def test_a_folder_of_programs_that_others_may_write_to_is_taken_from_them(tmp_path: Path) -> None:
    folder = tmp_path / "delta-table-explorer"
    folder.mkdir()
    folder.chmod(0o777)
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == folder
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_programs_of_another_user_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "delta-table-explorer"
    folder.mkdir(mode=0o777)
    os.chown(folder, 12_345, 12_345)
    found = cache_folder({"XDG_CACHE_HOME": str(tmp_path)})
    assert found != folder
    found.rmdir()
