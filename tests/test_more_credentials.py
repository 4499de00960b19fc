"""Credentials without a verb or a scheme, names of files that only look like them, and case files with raw paths."""

from __future__ import annotations

import time

import msgspec
import pytest

from explorer.credentials import safe_path, without_credentials
from explorer.report.case_desk import CaseDesk

CANARY = "c4naryQ7x9Zk2"


@pytest.mark.parametrize(
    "text",
    [
        f"secret_access_key {CANARY}",
        f"the store said: aws_secret_access_key {CANARY}, try again",
        f"fs.s3a.secret.key {CANARY}",
        f"account-key '{CANARY}'",
        f'"secret_access_key" "{CANARY}"',
        f"//user:{CANARY}@host/x.parquet",
        f"//{CANARY}@host/x.parquet",
        f"user:{CANARY}@host.example",
        f"user:{CANARY}@db.json.example.com",
        f"s3://user:{CANARY}@bucket/x.parquet",
    ],
)
def test_a_credential_is_hidden(text: str) -> None:
    assert CANARY not in without_credentials(text)
    assert "***" in without_credentials(text)


@pytest.mark.parametrize(
    "text",
    [
        "a:b@v.parquet",
        "day=1/a:b@v.snappy.parquet",
        "The file a:b@v.parquet is missing.",
        "a:b@1.bin",
        "secret_key columns",
        "access_token is missing",
        "secret_access_key not set",
        "token_count 20261129",
        "https://host//a@b",
        "a//b@c",
    ],
)
def test_what_holds_no_credential_is_shown(text: str) -> None:
    assert without_credentials(text) == text
    assert safe_path(text) == text


@pytest.mark.parametrize("text", ["//" + "a" * 60_000, "a:" * 40_000 + "@", "secret_key " * 20_000, "a_key" * 20_000])
def test_hiding_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    without_credentials(text)
    assert time.process_time() - began < 3


def test_a_case_file_is_shown_without_the_credentials_of_its_paths() -> None:
    address = f"s3://user:{CANARY}@bucket/t/x.parquet"
    pins = [
        {"kind": "file", "version": 1, "path": address, "table": address},
        {"kind": "commit", "version": 1, "table": f"s3://bucket/t?sig={CANARY}"},
    ]
    desk = CaseDesk()
    desk.load(msgspec.json.encode({"title": "x", "pins": pins}).decode(), "case.json")
    assert len(desk.file.pins) == 2
    assert CANARY not in desk.text
