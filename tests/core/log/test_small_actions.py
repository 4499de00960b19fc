"""Commits decoded without their file actions: what is left is what the whole decoder finds, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log.commit import decode_commit
from explorer.core.protocol.raw_actions import SmallLine
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs import small_logs
from tests.support.logs.small_logs import decode_small
from tests.support.shared_tables import golden_root, reference_root

_T = TypeVar("_T")
MEMBERS = SmallLine.__struct_fields__
ROOTS = [pytest.param("golden", marks=pytest.mark.golden), pytest.param("reference", marks=pytest.mark.reference)]

_PATHS = st.sampled_from(["a", "b%20c", "metaData", '"commitInfo"', "é"])
_FILES = st.builds(
    lambda path, size, key: {key: {"path": path, "size": size, "partitionValues": {"commitInfo": "{}"}}},
    _PATHS,
    st.sampled_from([1, None, 1.0, "x", 1 << 70]),
    st.sampled_from(["add", "remove"]),
)
_SMALL = st.sampled_from(
    [
        {"commitInfo": {"operation": "WRITE", "add": {"path": 1}}},
        {"commitInfo": None},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": "x", "configuration": {"add": "}}\n{"}}},
        {"txn": {"appId": "a", "version": 1}},
        {"cdc": {"path": "c", "size": 3}},
        {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}},
        {"unknown": {"commitInfo": {}}},
        {},
    ]
)
_OBJECTS = st.one_of(_FILES, _SMALL, st.builds(lambda one, other: {**one, **other}, _FILES, _SMALL))
_TEXTS = st.builds(
    lambda value, ascii_only, gap: json.dumps(
        value, ensure_ascii=ascii_only, separators=(f",{gap}", f":{gap}")
    ).encode(),
    _OBJECTS,
    st.booleans(),
    st.sampled_from(["", " ", "\t"]),
)
_ODD = st.sampled_from(
    [b"", b"  ", b"{", b"null", b"[]", b"\xff", b'{"\\u0063ommitInfo":{}}', b'{"commitInfo":{"a":"\xff"}}', b"{}{}"]
)
_JOINTS = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"", b" \n ", b"\n{\n}"])


def _tried(decode: Callable[[bytes, int, str], _T], data: bytes) -> tuple[_T | None, MalformedAction | None]:
    try:
        return decode(data, 3, "_delta_log/x.json"), None
    except MalformedAction as error:
        return None, error


@settings(max_examples=5000 if WHOLE_DOSE else 300, deadline=None)
@given(st.lists(st.tuples(st.one_of(_TEXTS, _TEXTS, _TEXTS, _ODD), _JOINTS), max_size=8))
def test_what_is_left_is_what_the_whole_decoder_finds(pieces: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(part for piece in pieces for part in piece)
    whole, wrong = _tried(decode_commit, data)
    small, also_wrong = _tried(decode_small, data)
    if small is None or also_wrong is not None:
        # What cannot be read without the files cannot be read with them, and is found at the same line or before it.
        assert wrong is not None
        assert also_wrong is not None
        assert (wrong.line or 0) <= (also_wrong.line or 0)
        return
    if whole is None:
        # A file action is not valid by the protocol; nobody asked for it here.
        assert b'"add"' in data or b'"remove"' in data
        return
    found = [
        (whole.line_number(place), [bytes(getattr(line, name)) for name in MEMBERS])
        for place, line in enumerate(whole.lines)
    ]
    left = [
        (small.line_number(place), [bytes(getattr(line, name)) for name in MEMBERS])
        for place, line in enumerate(small.lines)
    ]
    assert left == [line for line in found if any(line[1])]


@pytest.mark.parametrize("root", ROOTS)
def test_the_provenance_of_every_log_is_that_of_its_history(root: str) -> None:
    tables = (golden_root() if root == "golden" else reference_root()) / "tables"
    compared = 0
    for path in some_of(sorted(tables.iterdir()), 60):
        try:
            meant = explorer.open_table(path).history_record()
        except explorer.ExplorerError:
            continue
        found = explorer.open_table(path).provenance_record()
        assert found.commits == meant.commits, path.name
        assert (found.base_domains, found.first_readable, found.latest) == (
            meant.base_domains,
            meant.first_readable,
            meant.latest,
        )
        for version in some_of(range(meant.first_readable, meant.latest + 1), 6):
            assert found.metadata_at(version) == meant.metadata_at(version)
            assert found.protocol_at(version) == meant.protocol_at(version)
        compared += 1
    assert compared >= 25


def test_what_is_wrong_with_a_file_is_found_when_files_are_asked_for(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    folder = small_logs.write_log(tmp_path / "t", [created, [small_logs.commit_info("WRITE")]])
    commit = folder / "_delta_log" / f"{1:020}.json"
    commit.write_bytes(commit.read_bytes().rstrip() + b'\n{"add":{"path":7}}')
    table = explorer.open_table(folder)
    assert [record.info.operation for record in table.provenance_record().commits if record.info] == [
        "CREATE TABLE",
        "WRITE",
    ]
    with pytest.raises(MalformedAction):
        table.history()
