"""What a card of an error says to do is said once: the error's own next step, or the one for its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.core.errors import ExplorerError, RequestError, VersionNotFound
from explorer.page.address import Address
from explorer.page.pages import notice, table_page
from explorer.table import open_table
from explorer.views.cards import card_of
from explorer.views.problems import problem_of
from explorer.web.served_tables import Catalog
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.page_elements import Elements


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of a table whose second commit is missing, and of one without a log."""
    log = [[PROTOCOL, metadata({"id": "long"})], [add("a.parquet", 1)], [add("b.parquet", 1)]]
    write_log(tmp_path / "w" / "gap", log)
    (tmp_path / "w" / "gap" / "_delta_log" / f"{1:020}.json").unlink()
    (tmp_path / "w" / "plain").mkdir()
    return tmp_path / "w"


def _card(root: Path, name: str) -> str:
    catalog = Catalog([str(root)])
    page = table_page(catalog, Address(table=f"w/{name}"), "light", idle_work(catalog))
    return Elements(page.regions["lead"]).text


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gap", "Restore the missing file from a backup"),
        ("plain", "Check the path"),
    ],
)
def test_a_page_of_an_error_says_once_what_to_do(root: Path, name: str, advice: str) -> None:
    card = _card(root, name)
    assert card.count(advice) == 1
    assert card.count("What to do.") == 1
    assert card.index("What to do.") < card.index(advice)


def test_a_page_of_an_error_keeps_all_that_its_message_says(root: Path) -> None:
    with pytest.raises(ExplorerError) as caught:
        open_table(str(root / "gap")).snapshot()
    shown = " ".join(_card(root, "gap").replace("What to do.", " ").split())
    # A click copies the message as it was raised, too.
    for sentence in str(caught.value).split(". "):
        assert sentence.rstrip(".") in shown


def test_an_error_without_a_next_step_gets_the_one_for_its_kind() -> None:
    problem = problem_of(VersionNotFound("The commit of version 7 is not in the log."))
    assert (problem.statement, problem.next_step) == (
        "The commit of version 7 is not in the log.",
        "Choose a version within the range.",
    )


@pytest.mark.parametrize(
    ("message", "statement", "advice"),
    [
        ("v.1 is in /a. b. Delete it where it is.", "v.1 is in /a. b.", "Delete it where it is."),
        ("It is damaged. If all commits exist, remove it. If not, restore it.", "It is damaged.",
         "If all commits exist, remove it. If not, restore it."),
        ("It is doubled. A checkpoint is damaged: run verify to find it.", "It is doubled.",
         "A checkpoint is damaged: run verify to find it."),
        ("The footer could not be read: Try again.", "The footer could not be read:", "Try again."),
        ("Use is the name of a column. It has no file.", "Use is the name of a column. It has no file.",
         "Correct the value named in the message."),
        ("Check the path.", "Check the path.", "Correct the value named in the message."),
    ],
)  # fmt: skip
def test_the_end_of_a_message_is_its_next_step(message: str, statement: str, advice: str) -> None:
    problem = problem_of(RequestError(message))
    assert (problem.message, problem.statement, problem.next_step) == (message, statement, advice)


def test_cards_in_a_notebook_and_notices_say_it_once_too() -> None:
    error = RequestError("The field is empty. Give a number of days.")
    facts = dict(card_of(error).facts)
    assert (facts["message"], facts["next step"]) == ("The field is empty.", "Give a number of days.")
    assert notice(problem_of(error), retry=True).count("Give a number of days.") == 1
    assert notice(problem_of(error)).count("Give a number of days.") == 1
