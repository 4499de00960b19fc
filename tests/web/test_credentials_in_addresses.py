"""A page whose address names a table by a URL with a password, which is nobody's name for a table."""

from __future__ import annotations

import pytest

from explorer.core.errors import NotAllowed
from explorer.page.address import Address
from explorer.page.pages import problem_page, waiting_page

CANARY = "CANARY4711"


@pytest.mark.parametrize("table", [f"s3://u:{CANARY}@bucket/t", f"s3:/u:{CANARY}@bucket/t"])
def test_no_page_shows_the_credentials_of_its_address(table: str) -> None:
    address = Address(table=table)
    for page in (
        problem_page(address, NotAllowed("It is outside the roots."), may_commit=False),
        waiting_page(address, may_commit=False),
    ):
        assert "bucket" in page.title
        assert CANARY not in f"{page.title}{page.regions}"
