"""What a job that this process does by itself says of what it does, and of where it failed."""

from __future__ import annotations

import pytest

from explorer.core.errors import StorageError
from explorer.job import Job, ThisProcess


def test_work_is_called_by_its_own_words_until_it_names_a_phase() -> None:
    job: Job[str] = Job("Footer of a file", ThisProcess("Reading the footer"))
    assert job.run(lambda job: job.phase) == "Reading the footer"


def test_a_failure_that_nobody_foresaw_names_the_phase_in_which_it_came() -> None:
    def work(job: Job[str]) -> str:
        job.report("Checking the rules")
        raise ZeroDivisionError("division by zero.")

    with pytest.raises(StorageError) as failed:
        Job("Audit of orders", ThisProcess("Reading the log")).run(work)
    assert str(failed.value) == "Checking the rules failed: division by zero. Try again."
