"""The results of proofs that ran here, ``build/proofs.json``, so that ``make prove`` resumes where it stopped.

A run of pytest with ``--proofs-record`` renews the proofs that it ran. The digest is of the file of the tests: where it
has changed since, the proof is due again. A proof that is a folder of tests has none: every run of the tests tries its
small dose, and the day says how old the whole one is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Final

from tests.prove.proofs import PROOFS, Proof
from tests.support.shared_tables import REPOSITORY

__all__ = [
    "RECORD",
    "ProofRun",
    "WholeRun",
    "digest",
    "due_proofs",
    "load_record",
    "load_whole",
    "write_record",
    "write_whole",
]

RECORD: Final = REPOSITORY / "build" / "proofs.json"
_WHOLE: Final = REPOSITORY / "build" / "prove.json"


@dataclass(frozen=True, slots=True)
class ProofRun:
    """How a proof went.

    Attributes:
        at: The day, in ISO form.
        digest: Of the tests as they ran; empty for a folder.
        cases: How often each outcome of a case came.
        seconds: What the cases took, one after another.
        found: What the tests counted, summed over the cases.
        failed: The tests that failed, by their node IDs.
    """

    at: str
    digest: str
    cases: dict[str, int]
    seconds: float
    found: dict[str, int]
    failed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WholeRun:
    """How ``make prove`` went.

    Attributes:
        at: The day, in ISO form.
        seconds: What it took.
        proofs: How many proofs were due.
        failed: Its steps that failed.
    """

    at: str
    seconds: int
    proofs: int
    failed: tuple[str, ...]


def load_whole() -> WholeRun | None:
    """Return the last run of ``make prove`` here; None if there was none."""
    if not _WHOLE.is_file():
        return None
    run = json.loads(_WHOLE.read_text("utf-8"))
    return WholeRun(**{**run, "failed": tuple(run["failed"])})


def write_whole(run: WholeRun) -> None:
    """Keep a run of ``make prove``."""
    _WHOLE.parent.mkdir(exist_ok=True)
    _WHOLE.write_text(json.dumps(asdict(run), indent=1) + "\n", "utf-8")


def load_record() -> dict[str, ProofRun]:
    """Name of a proof -> its last run; empty without a record."""
    if not RECORD.is_file():
        return {}
    return {name: ProofRun(**entry) for name, entry in json.loads(RECORD.read_text("utf-8")).items()}


def write_record(record: Mapping[str, ProofRun]) -> None:
    """Replace the record; proofs that there are no more leave it."""
    known = {proof.name: asdict(record[proof.name]) for proof in PROOFS if proof.name in record}
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


def digest(proof: Proof) -> str:
    """The digest of the file that holds a proof's tests; empty for a folder."""
    path = REPOSITORY / proof.tests.partition("::")[0]
    return "" if path.is_dir() else sha256(path.read_bytes()).hexdigest()[:16]


def due_proofs(record: Mapping[str, ProofRun]) -> list[str]:
    """Return the proofs that never ran whole, skipped or failed when they ran last, or whose tests changed since."""
    return [proof.name for proof in PROOFS if (run := record.get(proof.name)) is None or _is_due(proof, run)]


def _is_due(proof: Proof, run: ProofRun) -> bool:
    left_out = "passed" not in run.cases
    return left_out or run.digest != digest(proof) or not run.cases.keys() <= {"passed", "skipped"}
