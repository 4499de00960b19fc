"""Which changes need a second person, and what a rule with a typo says."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.approvals.rules import GivenRule, Rules, resolved_rules
from explorer.catalogs.folders import served_roots
from explorer.core.errors import RequestError
from explorer.given_roles import place_of
from explorer.storage.served_roots import ServedRoots


@pytest.fixture
def roots(tmp_path: Path) -> ServedRoots:
    for name in ("lake/eu/orders", "lake/eu2/orders", "other/orders"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "lake" / "eu")
    return served_roots([str(tmp_path / "lake"), str(tmp_path / "other")])


def needs(rules: Rules, roots: ServedRoots, name: str, kind: str) -> str | None:
    rule = rules.of(place_of(roots.locate(name)), kind)
    return None if rule is None else rule.commits


def test_a_rule_is_about_places_and_kinds(roots: ServedRoots) -> None:
    rules = resolved_rules(
        [GivenRule(("lake/eu",), ("vacuum", "restore"), "itself"), GivenRule(kinds=("drop-columns",))], roots
    )
    assert needs(rules, roots, "lake/eu/orders", "vacuum") == "itself"
    assert needs(rules, roots, "lake/link/orders", "vacuum") == "itself", "a link leads to the same table"
    assert needs(rules, roots, "lake/eu2/orders", "vacuum") is None, "a folder whose name begins alike"
    assert needs(rules, roots, "lake/eu/orders", "append") is None
    assert needs(rules, roots, "other/orders", "drop-columns") == "maker"
    everything = resolved_rules([GivenRule()], roots)
    assert needs(everything, roots, "other/orders", "checkpoint") == "maker"
    assert needs(resolved_rules([], roots), roots, "other/orders", "vacuum") is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (GivenRule(kinds=("vacum",)), "two_people[1].kinds: 'vacum' is not known. Did you mean vacuum?"),
        (GivenRule(commits="itsself"), "two_people[1].commits: 'itsself' is not known. Did you mean itself?"),
        (GivenRule(("lakes/eu",)), "two_people[1].tables: no served folder is called 'lakes'. Did you mean lake?"),
        (GivenRule(("lake/eus",)), "two_people[1].tables: there is nothing called 'lake/eus'. Did you mean lake/eu?"),
        (GivenRule(("lake/../other",)), "is not inside a served folder"),
    ],
)
def test_a_typo_stops_the_server_instead_of_protecting_nothing(roots: ServedRoots, given: GivenRule, said: str) -> None:
    with pytest.raises(RequestError) as found:
        resolved_rules([given], roots)
    assert said in str(found.value)
