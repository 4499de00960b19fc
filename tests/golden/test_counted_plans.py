"""Every text of every plan on the reference's tables: a number agrees with its words, and none is below 0."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.views.act.plan_view import PlanView, plan_view
from tests.support.at_least_one import at_least_one
from tests.support.counted_words import disagreeing
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.every_intent import plain_intents
from tests.support.logs.raw_log import raw_state
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.golden

SOME = 3


def texts(view: PlanView) -> Iterator[str]:
    yield from (view.worst, view.verdict, view.counts, view.who_reads, view.who_writes)
    yield from (text for _, text in view.consequences)
    yield from (f"{line.subject} {line.detail}" for line in view.written)
    yield from (text for guard in view.guards for text in (guard.sentence, guard.remedy))


def test_numbers_of_plans_agree_with_their_words() -> None:
    names = sorted(path.name for path in (reference_root() / "tables").iterdir())
    wrong, planned = [], 0
    for name in at_least_one(names if WHOLE_DOSE else names[::-1][:SOME]):
        path = reference_root() / "tables" / name
        raw, table = raw_state(path), explorer.open_table(path)
        assert raw is not None
        for intent in at_least_one(list(plain_intents(table.snapshot(), raw))):
            try:
                plan = table.plan(intent, check_rows=False)
            except RequestError:
                continue
            planned += 1
            view = plan_view(plan, table.snapshot())
            wrong += [(name, intent, text, found) for text in texts(view) if (found := disagreeing(text))]
    assert planned > SOME
    assert wrong == []
