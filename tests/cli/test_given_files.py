"""Files that a command is given are read up to a limit, which the error names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from explorer.cli.report_files import read_whole
from explorer.core.errors import LimitExceeded, RequestError
from explorer.core.protocol import limits
from explorer.core.transaction.intents.documents import parse_intent
from tests.support.at_least_one import at_least_one

_MANY = b'{"kind":"set-description","description":[' + b"{}," * (limits.MAX_JSON_VALUES + 1) + b"0]}"


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", limits.MAX_DECODED_BYTES)


def test_a_long_file_is_read_no_further_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.DECODED_VARIABLE, "1000")
    given = tmp_path / "intent.json"
    given.write_bytes(b" " * 5_000)
    stream = io.StringIO(" " * 5_000)
    monkeypatch.setattr("sys.stdin", stream)
    for path in at_least_one([given, None]):
        with pytest.raises(LimitExceeded, match="has more than 1,000 bytes") as refused:
            read_whole(path)
        assert (refused.value.found, refused.value.allowed) == (1_001, 1_000)
        assert limits.DECODED_VARIABLE in refused.value.message
    assert len(stream.read()) == 3_999


def test_a_person_raises_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "intent.json"
    given.write_bytes(_MANY)
    with pytest.raises(LimitExceeded, match="may have"):
        read_whole(given)
    monkeypatch.setenv(limits.DECODED_VARIABLE, str(1 << 31))
    assert read_whole(given) == _MANY


def test_an_intent_of_very_many_values_is_refused_before_it_is_decoded() -> None:
    for text in at_least_one([_MANY, _MANY.decode()]):
        with pytest.raises(LimitExceeded, match="The intent may have") as refused:
            parse_intent(text)
        assert limits.DECODED_VARIABLE in refused.value.message


def test_a_file_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"none\.json cannot be read: No such file or directory"):
        read_whole(tmp_path / "none.json")
