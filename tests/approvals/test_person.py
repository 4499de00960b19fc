"""Who is the same person, as far as accounts say so."""

from __future__ import annotations

import pytest

from explorer.approvals.person import is_same_person
from tests.approvals.conftest import person


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(person("ana"), person("Ana B.", subject="subject of ana"), id="another name of one account"),
        pytest.param(person("ana"), person("ana", issuer="password file", subject="ana"), id="the name of another way"),
        pytest.param(person("ana"), person("ANA ", subject="2"), id="in other letters"),
        pytest.param(person("ana"), person("\uff41na", subject="2"), id="in wide letters"),
        pytest.param(
            person("ana", email="ana@example.org"), person("a.silva", email="Ana@Example.org"), id="one e-mail address"
        ),
        pytest.param(
            person("ana", email="ana@example.org"), person("a2", email="ana+2@example.org"), id="a tag in the address"
        ),
        pytest.param(person("ana"), person("ana@example.org"), id="a name and the address with that name"),
        pytest.param(person("ana", issuer="system host", subject="uid 7"), person("ana@example.org"), id="a terminal"),
        pytest.param(person("x", email="ana@example.org"), person("ana@example.org"), id="the address as a name"),
    ],
)
def test_accounts_of_one_person(one: object, other: object) -> None:
    assert is_same_person(one, other)  # type: ignore[arg-type]  # people
    assert is_same_person(other, one)  # type: ignore[arg-type]  # people


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (person("ana"), person("ben")),
        (person("ana@one.example"), person("ana@other.example")),
        (person("ana", email="ana@one.example"), person("ben", email="ben@one.example")),
        (person("an"), person("ana@example.org")),
    ],
)
def test_accounts_of_two_people(one: object, other: object) -> None:
    assert not is_same_person(one, other)  # type: ignore[arg-type]  # people
    assert not is_same_person(other, one)  # type: ignore[arg-type]  # people


def test_the_configuration_says_which_accounts_are_of_one_person() -> None:
    accounts = [("ana", "admin7"), ("ben", "ben@example.org")]
    assert is_same_person(person("ana"), person("admin7"), accounts)
    assert is_same_person(person("Admin7"), person("ana"), accounts)
    assert not is_same_person(person("ana"), person("ben"), accounts)
