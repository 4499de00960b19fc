"""Places in another storage that only a log names: nothing is asked there without credentials that somebody set."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed
from explorer.storage import open_store


@pytest.mark.parametrize(
    ("location", "variables"),
    [
        ("abfss://c@account.dfs.core.windows.net/t/part-1.parquet", "AZURE_"),
        ("az://container/t/part-1.parquet", "AZURE_"),
        ("s3://bucket/t/part-1.parquet", "AWS_"),
        ("s3a://bucket/t/part-1.parquet", "AWS_"),
        ("gs://bucket/t/part-1.parquet", "GOOGLE_"),
    ],
)
def test_a_table_on_disk_leads_to_no_cloud_that_nobody_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, variables: str
) -> None:
    import os

    for name in [name for name in os.environ if name.startswith(variables)]:
        monkeypatch.delenv(name)
    store = open_store(tmp_path)
    with pytest.raises(NotAllowed, match="nothing was asked there") as caught:
        store.elsewhere(location)
    assert variables in caught.value.message
    monkeypatch.setenv(f"{variables}REGION", "eu-central-1")
    if variables == "AWS_":
        assert store.elsewhere(location)[1] == "part-1.parquet"


def test_a_table_on_disk_may_name_files_elsewhere_on_disk(tmp_path: Path) -> None:
    found, name = open_store(tmp_path).elsewhere(f"{tmp_path}/other/part-1.parquet")
    assert (found.root.endswith("/other"), name) == (True, "part-1.parquet")
