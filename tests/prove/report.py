"""The page on proofs: what each proof tries, and how it went when it ran last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.prove.proofs import PROOFS, Proof
from tests.prove.record import ProofRun, WholeRun
from tests.support.shared_tables import REPOSITORY

__all__ = ["PAGE", "page"]

PAGE: Final = REPOSITORY / "docs" / "proofs.md"
_COMMAND: Final = "As the one command, "
_MOST_KINDS: Final = 4

_HEAD: Final = """# Proofs

`make prove` takes hours; `make test` tries a small part of the same. Each proof ran whole with the result below.
`make prove` runs the proofs that are due here: that never ran, that failed, or whose tests changed since; interrupted,
it resumes where it stopped. To see what each does in full and its tests, to run some alone, or all again, and to renew
this page with the results in `build`:

    python -m tests.prove --list
    python -m tests.prove race-disk kills
    python -m tests.prove --all
    python -m tests.prove --page

After the proofs it measures the branches of the core and runs the mutants of functions that changed
([strength.md](strength.md)).
{whole}

The machine had two processors that other work shared: the times say what to expect, not how fast the program is. A case
is skipped where what it needs is missing, or where it asks for nothing, and says so in the run.
"""

_NOTES: Final = """## What is checked

After each race, every commit that its writer reported is in the log once, at the version reported, and no other is.
Versions have no gap, `verify` reports nothing but a hint that names an older checkpoint, rows and batches add up, every
file that a version needs exists, and no file of a lost commit remains.

`python -m tests.golden.data_commands` lists the statements of the reference that write rows, and where an intent leaves
something else, each with its reason. [clients.md](clients.md) does so for what other clients read and write.

The S3 server of the races is versitygw where it is on the path (`go install
github.com/versity/versitygw/cmd/versitygw@latest`), as for the results above; otherwise moto, one request at a time.
"""


def page(record: Mapping[str, ProofRun], whole: WholeRun | None) -> str:
    """Return the page with the results of a record; proofs that it lacks keep the result that the page has now."""
    now = PAGE.read_text("utf-8").splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in now if line.startswith("| ")}
    command = next((line for line in now if line.startswith(_COMMAND)), "") if whole is None else _command(whole)
    return "\n".join([_HEAD.format(whole=command), *_tables(record, rows), _NOTES])


def _command(run: WholeRun) -> str:
    ended = f"it failed at {', '.join(run.failed)}" if run.failed else "it ended without a failure"
    due = f"{run.proofs or 'no'} proof{'' if run.proofs == 1 else 's'} due"
    return f"{_COMMAND}with {due}, {ended} after {_time(run.seconds)} on {run.at}."


def _tables(record: Mapping[str, ProofRun], rows: Mapping[str, str]) -> Iterator[str]:
    for section in dict.fromkeys(proof.section for proof in PROOFS):
        yield from (
            f"## {section}",
            "",
            _line("proof", "what it does", "result", "took", "on"),
            "|---" * 5 + "|",
        )
        for proof in PROOFS:
            if proof.section == section:
                yield _row(proof, record.get(proof.name), rows.get(proof.name, ""))
        yield ""


def _row(proof: Proof, run: ProofRun | None, now: str) -> str:
    cells = [proof.name, _in_short(proof.how)]
    if run is not None:
        return _line(*cells, _result(run), _time(run.seconds), run.at)
    known = now.removesuffix(" |").split(" | ")
    return _line(*cells, *(known[-3:] if len(known) > len(cells) else ("not run whole yet", "", "")))


def _in_short(how: str) -> str:
    """What a proof does, without what is counted as a failure and how: `--list` says all of it."""
    return re.split(r"[;:] ", how, maxsplit=1)[0]


def _result(run: ProofRun) -> str:
    """What came of it; of many kinds of outcomes their last words, such as committed and conflicted, are counted.

    What was measured, in MiB, is no count: it is said as it is.
    """
    cases = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(run.cases.items()))
    measured = [f"{count:,} {what}" for what, count in run.found.items() if what.startswith("MiB ")]
    found = Counter({what: count for what, count in run.found.items() if not what.startswith("MiB ")})
    if len(found) > _MOST_KINDS:
        found = sum((Counter({_kind(what): count}) for what, count in found.items()), Counter())
    kinds = ", ".join([*measured, *(f"{count:,} {what}" for what, count in found.items())])
    return f"{kinds}; {cases}" if kinds else cases


def _kind(what: str) -> str:
    """The last word of an outcome; a status of HTTP is an answer."""
    word = what.rpartition(" ")[2]
    return "answers" if word.isdigit() else word


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
