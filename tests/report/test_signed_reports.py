"""Signatures of reports, held against OpenSSH's own, and what verifying a report finds."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

import explorer
from explorer.auditing.document import sealed
from explorer.core.errors import RequestError
from explorer.report import render, verify_report
from explorer.report.document import TableReport
from explorer.report.signature import SigningKey, read_key, read_trusted
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import NOW, clean, loaded, written
from tests.support.dose import WHOLE_DOSE
from tests.support.shared_tables import golden_root

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


@pytest.fixture(scope="module")
def private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(scope="module")
def key(private: Ed25519PrivateKey) -> SigningKey:
    return SigningKey(private, "ana")


@pytest.fixture(scope="module")
def report(key: SigningKey) -> TableReport:
    return written(loaded("0.parquet")).report(NOW, by="ana", signer=key.signer)


def _public(private: Ed25519PrivateKey, form: str = "ssh") -> bytes:
    if form == "ssh":
        return private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@needs_openssh
def test_openssh_verifies_what_is_signed_here_and_the_reverse(
    report: TableReport, private: Ed25519PrivateKey, key: SigningKey, tmp_path: Path
) -> None:
    data = render(report).encode()
    (tmp_path / "key").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "allowed").write_bytes(b'ana@example namespaces="delta-explorer" ' + _public(private) + b"\n")
    (tmp_path / "r.sig").write_bytes(key.sign(data))
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        "allowed",
        "-I",
        "ana@example",
        "-n",
        "delta-explorer",
        "-s",
        "r.sig",
    ]
    checked = subprocess.run(command, input=data, cwd=tmp_path, capture_output=True, check=False)
    assert checked.returncode == 0, checked
    assert key.signer.fingerprint in checked.stdout.decode()
    (tmp_path / "r").write_bytes(data)
    sign = ["ssh-keygen", "-Y", "sign", "-f", "key", "-n", "delta-explorer", "r"]
    (tmp_path / "r.sig").unlink()
    subprocess.run(sign, cwd=tmp_path, capture_output=True, check=True)
    trusted = read_trusted((tmp_path / "allowed").read_bytes(), "allowed")
    verification = verify_report(data, (tmp_path / "r.sig").read_bytes(), trusted)
    assert (verification.valid, verification.signer, verification.trusted) == (True, "ana@example", True)


@needs_openssh
def test_a_signature_for_another_purpose_does_not_count(
    report: TableReport, private: Ed25519PrivateKey, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "r").write_bytes(render(report).encode())
    subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-f", "key", "-n", "git", "r"], cwd=tmp_path, capture_output=True, check=True
    )
    verification = verify_report((tmp_path / "r").read_bytes(), (tmp_path / "r.sig").read_bytes())
    assert [each.part for each in verification.differences] == ["signature"]
    assert "namespace is 'git'" in verification.differences[0].detail


def test_whom_a_report_is_from(report: TableReport, private: Ed25519PrivateKey, key: SigningKey) -> None:
    data = render(report).encode()
    signed = key.sign(data)
    alone = verify_report(data, signed)
    assert (alone.valid, alone.signer, alone.trusted) == (True, key.signer.fingerprint, None)
    for form in ("ssh", "pem"):
        assert verify_report(data, signed, read_trusted(_public(private, form), "ana.pub")).trusted
    stranger = read_trusted(_public(Ed25519PrivateKey.generate()), "other.pub")
    verification = verify_report(data, signed, stranger)
    assert (verification.valid, verification.trusted) == (False, False)


def test_a_report_that_names_its_signer_needs_that_signature(report: TableReport) -> None:
    data = render(report).encode()
    stripped = verify_report(data)
    assert [each.part for each in stripped.differences] == ["signature"]
    forged = SigningKey(Ed25519PrivateKey.generate()).sign(data)
    assert "signed it" in verify_report(data, forged).differences[0].detail


def test_a_text_that_is_not_what_the_data_gives_is_shown_with_its_line(report: TableReport) -> None:
    plain = sealed(msgspec.structs.replace(report, signer=None, digest=""))
    html = render(plain)
    assert verify_report(html.encode()).valid
    (difference,) = verify_report(html.replace("rules passed", "rules failed", 1).encode()).differences
    assert (
        difference.part,
        "rules failed" in (difference.found or ""),
        "rules passed" in (difference.expected or ""),
    ) == (
        "text",
        True,
        True,
    )
    assert html.split("\n")[(difference.line or 0) - 1].count("rules passed") == 1


def test_data_that_was_changed_with_its_text_breaks_the_digest(report: TableReport) -> None:
    other = msgspec.structs.replace(report, by="eve", signer=None)
    verification = verify_report(render(other).encode())
    assert [each.part for each in verification.differences] == ["digest"]


def test_lines_of_json_are_verified_too() -> None:
    data = msgspec.json.encode(msgspec.to_builtins(clean().report(NOW))) + b"\n"
    assert verify_report(data).valid
    assert verify_report(data + data).valid
    assert not verify_report(data.replace(b'"version":3', b'"version": 3', 1)).valid


def test_a_version_of_the_program_that_differs_is_named(report: TableReport) -> None:
    other = sealed(msgspec.structs.replace(report, program="Delta Table Explorer 9.9.9", signer=None, digest=""))
    html = render(other).replace("Audit report", "Report of an audit", 1)
    (difference,) = verify_report(html.encode()).differences
    assert "made by Delta Table Explorer 9.9.9" in difference.detail


def test_what_is_no_report_is_not_valid() -> None:
    for data in (b"", b"\xff\xfe", b"<html>", b"[]", b'{"digest": 1}', b"<p>" * 5_000):
        assert not verify_report(data).valid


def test_keys_with_and_without_a_passphrase(private: Ed25519PrivateKey, key: SigningKey) -> None:
    public = _public(private) + b" ana\n"
    for form in (PrivateFormat.PKCS8, PrivateFormat.OpenSSH):
        bare = private.private_bytes(Encoding.PEM, form, NoEncryption())
        assert read_key(bare, None).named_by(public).signer == key.signer
    locked = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    assert read_key(locked, b"secret").signer.fingerprint == key.signer.fingerprint
    for passphrase in (None, b"wrong"):
        with pytest.raises(RequestError) as caught:
            read_key(locked, passphrase)
        assert caught.value.field == "passphrase"
        assert "wrong" not in str(caught.value)


def test_an_openssh_key_with_a_passphrase(private: Ed25519PrivateKey, key: SigningKey) -> None:
    pytest.importorskip("bcrypt")
    locked = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, BestAvailableEncryption(b"secret"))
    assert read_key(locked, b"secret").signer.fingerprint == key.signer.fingerprint
    with pytest.raises(RequestError, match="passphrase"):
        read_key(locked, b"wrong")


def test_other_keys_are_refused(private: Ed25519PrivateKey) -> None:
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for data in (other, b"", b"-----BEGIN PRIVATE KEY-----"):
        with pytest.raises(RequestError, match="not contain an Ed25519 private key"):
            read_key(data, None)
    for data in (b"", b"ana ssh-rsa AAAA", b"ssh-ed25519 AAAA", b"\xff", b"-----BEGIN PUBLIC KEY-----"):
        with pytest.raises(RequestError, match="not contain an Ed25519 public key"):
            read_trusted(data, "keys")
    with pytest.raises(RequestError, match="valid-before"):
        read_trusted(b'ana valid-before="20200101" ' + _public(private), "keys")


ODD = (
    "delta__bench-basic_catalog_managed__delta",
    "delta__canonicalized-paths-normal-a",
    "deltars__err_logs__table_d",
    "deltars__table-with-domain-metadata",
    "kernelrs__table-with-geo",
)


@pytest.mark.golden
def test_odd_tables_have_a_report_that_verifies() -> None:
    tables = golden_root() / "tables"
    for name in at_least_one(sorted(path.name for path in tables.iterdir() if path.is_dir()) if WHOLE_DOSE else ODD):
        report = explorer.open_table(tables / name).report(NOW)
        assert verify_report(render(report).encode()).valid, name
