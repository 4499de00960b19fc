"""Pages that a forged chunk hides from the measure, and that Arrow reads all the same, are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.row_groups import RowGroups
from tests.support.logs.raw_parquet import (
    data_page,
    dictionary_page,
    file_of_pages,
    hiding_page,
    plain_texts,
    repeated_index,
)

_ROWS: Final = 20_000
_LONG: Final = dictionary_page(plain_texts([b"x" * 10_000]), 1)
_REPEATED: Final = data_page(repeated_index(_ROWS), _ROWS)
_OLD_WRITER: Final = b"parquet-mr version 1.2.8 (build x)"
FORGED: Final = {
    "behind a page that is skipped": file_of_pages([_LONG, hiding_page(2**31 - 1), _REPEATED], _ROWS),
    "behind a page that is skipped and claims some": file_of_pages([_LONG, hiding_page(_ROWS), _REPEATED], _ROWS),
    "behind the end that an old writer states": file_of_pages(
        [_LONG, _REPEATED], _ROWS, hidden=len(_REPEATED), created_by=_OLD_WRITER
    ),
    "in a few bytes behind that end": file_of_pages([_LONG, _REPEATED], _ROWS, hidden=1, created_by=_OLD_WRITER),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DECODED_BYTES", 1 << 20)


@pytest.mark.parametrize("name", FORGED)
def test_arrow_reads_what_is_hidden(name: str) -> None:
    assert pq.read_table(pa.BufferReader(FORGED[name])).nbytes > _ROWS * 10_000


@pytest.mark.parametrize("name", FORGED)
def test_what_a_chunk_hides_is_measured(name: str) -> None:
    with pytest.raises(LimitExceeded):
        RowGroups(lambda: pa.BufferReader(FORGED[name]), None, "a file").read(0, ["a"])


@pytest.mark.parametrize("name", FORGED)
def test_what_a_chunk_of_a_local_file_hides_is_measured(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(FORGED[name])
    with pytest.raises(LimitExceeded):
        RowGroups(lambda: pa.OSFile(str(path)), None, "a file").read(0, ["a"])
