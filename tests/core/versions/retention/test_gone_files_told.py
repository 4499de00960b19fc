"""Files that are gone are counted in words, and looked for in the store that the table was opened with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from explorer.core.errors import ChangeFeedGap, StorageError
from explorer.core.protocol.actions import Protocol
from explorer.core.versions.retention.missing_files import absent
from explorer.storage import open_store
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add

FED = Protocol(min_reader_version=1, min_writer_version=4)
ON = msgspec.structs.replace(small_logs.METADATA, configuration={"delta.enableChangeDataFeed": "true"})


@pytest.mark.parametrize(
    ("last", "said"),
    [(1, "1 file is missing, of 1 version."), (2, "2 files are missing, of 2 versions.")],
)
def test_one_file_is_said_in_the_singular(last: int, said: str) -> None:
    table = small_logs.table({0: [FED, ON], 1: [add("a")], 2: [add("b")]})
    with pytest.raises(ChangeFeedGap) as caught:
        table.change_sources(1, last)
    assert str(caught.value) == (
        "The changes of version 1 cannot be read: their file a is no longer in the table's folder, most likely "
        f"deleted by VACUUM. {said}"
    )


@pytest.mark.parametrize("spelt", ["absolute", "relative"])
def test_a_file_of_the_table_is_asked_of_the_store_that_the_table_was_opened_with(tmp_path: Path, spelt: str) -> None:
    inner = open_store(tmp_path / "ta ble")
    inner.put("a..b", b"x")
    (tmp_path / "beside").write_bytes(b"x")
    place = f"{tmp_path}/ta ble/a..b" if spelt == "absolute" else "a..b"
    store = FaultyStore(inner)
    assert absent(store, [place, f"{place}c", f"{tmp_path}/beside"]) == {f"{place}c"}
    assert store.requests == ["head a..b", "head a..bc"]
    with pytest.raises(StorageError):
        absent(FaultyStore(inner, {0: "fails"}), [place])
