"""A kept index that others may write is not read: what is in it is trusted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from explorer.storage.index_folder import IndexFolder


@pytest.mark.parametrize(("mode", "read"), [(0o600, True), (0o644, True), (0o620, False), (0o602, False)])
def test_an_index_that_others_may_write_is_not_read(tmp_path: Path, mode: int, *, read: bool) -> None:
    folder = IndexFolder(tmp_path / "cache", "1", worth=(0, 0), settled=0)
    location = (tmp_path / "table").as_uri()
    folder.keep(location, [], lambda: {"rows": pa.table({"a": [1]})})
    (file,) = (tmp_path / "cache").iterdir()
    file.chmod(mode)
    assert (folder.find(location) is not None) is read
