"""A history of commits that are decoded in parts: small actions of each part, with the numbers of their lines."""

from __future__ import annotations

import pytest

from explorer.core.errors import MalformedAction
from explorer.core.log import decoded_parts as module
from explorer.core.protocol.actions import DomainMetadata
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info

DOMAIN = DomainMetadata(domain="house", configuration="{}", removed=False)


@pytest.fixture
def line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is a part of its own."""
    monkeypatch.setattr(module, "_PART", 1)


@pytest.mark.usefixtures("line_by_line")
def test_small_actions_of_every_part_are_in_the_history() -> None:
    table = small_logs.table({0: [PROTOCOL, add("a"), METADATA, add("b"), DOMAIN, commit_info("WRITE")]})
    [record] = table.history_record().commits
    assert (record.protocol, record.metadata, record.domains) == (PROTOCOL, METADATA, (DOMAIN,))
    assert record.info is not None
    assert record.info.operation == "WRITE"


@pytest.mark.usefixtures("line_by_line")
def test_a_broken_action_in_a_later_part_is_named_with_its_file_and_line() -> None:
    broken = b'{"domainMetadata":{"domain":1}}'
    # A file alone: small ones beside each other are decoded together.
    table = small_logs.table({0: [commit_info("WRITE"), PROTOCOL, METADATA, add("a"), broken]})
    with pytest.raises(MalformedAction, match="Line 5 of ") as caught:
        table.history_record()
    error = caught.value
    assert (error.version, error.line) == (0, 5)
    assert str(error.path).endswith("_delta_log/00000000000000000000.json")


def test_a_broken_action_of_a_commit_that_is_read_with_others_is_named_with_its_line() -> None:
    broken = b'{"domainMetadata":{"domain":1}}'
    table = small_logs.table({0: [PROTOCOL, METADATA, add("a"), add("b")], 1: [commit_info("WRITE"), add("c"), broken]})
    with pytest.raises(MalformedAction, match="Line 3 of ") as caught:
        table.history_record()
    assert (caught.value.version, caught.value.line) == (1, 3)
