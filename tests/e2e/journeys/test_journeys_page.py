"""The table of ``docs/guide/jobs.md`` is made from what was walked, and every journey was walked to its end."""

from tests.e2e.journeys.journeys import JOURNEYS, PAGE, page_of, recorded


def test_the_page_is_what_the_record_makes_of_it() -> None:
    page = PAGE.read_text()
    assert page == page_of(page, recorded()), "python -m tests.e2e.journeys.journeys --write makes it"


def test_every_journey_was_walked_to_its_end() -> None:
    assert set(recorded()) == set(JOURNEYS)


def test_a_journey_that_nobody_walked_is_said_to_be_so() -> None:
    record = recorded()
    del record["k"]
    asked = "Two versions differ: how do I show a colleague?"
    line = f"| k | {asked} | when the copied link opens the same page | not walked |"
    assert line in page_of(PAGE.read_text(), record)
