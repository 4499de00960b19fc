"""The writer of a stream's batches belongs to the process that opened the table."""

from __future__ import annotations

import pickle

import pytest

from explorer.core.errors import EngineUnavailable
from tests.support.logs import small_logs


def test_a_batch_writer_is_sent_to_no_other_process() -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    writer = table.batch_writer("loader", {"kind": "append", "source": ""})
    with pytest.raises(EngineUnavailable, match="txnAppId"):
        pickle.dumps(writer)
