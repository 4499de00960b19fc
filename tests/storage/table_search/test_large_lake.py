"""A lake of 12,000 tables on a store: names, requests, the first page, and an audit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from explorer.fleet import places
from explorer.storage.served_root import ServedRoot
from explorer.web.served_tables import Catalog
from tests.support.folder_s3 import FolderS3
from tests.support.lakes import small_tables
from tests.support.pages.open_windows import Window
from tests.support.shared_tables import REPOSITORY

SCHEMAS, TABLES = 120, 100
FOLDERS = 12 + SCHEMAS
LISTED = 1 + FOLDERS + SCHEMAS * TABLES
NAMES = [f"d{schema // 10:02}/s{schema:03}/t{table:03}" for schema in range(SCHEMAS) for table in range(TABLES)]
MOST_MEMORY = 300 << 20
"""Bytes of the largest process of an audit, however many tables there are."""
WITHIN = float(os.environ.get("DELTA_EXPLORER_SECONDS", "30"))
"""Seconds for all names: an idle machine takes three, one with other work a multiple."""


class _Server:
    """A server in a process of its own: it takes no time of this one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._ask, self._answer = process.stdin, process.stdout
        state = FolderS3(Path())
        state.port = int(self._answer.readline())
        self.root = ServedRoot("s3://lake", storage_options=state.options)

    def counts(self) -> tuple[int, int]:
        """Return how many listings and how many reads there were."""
        self._ask.write("\n")
        self._ask.flush()
        lists, reads = self._answer.readline().split()
        return int(lists), int(reads)


@contextmanager
def _served(folder: Path) -> Iterator[_Server]:
    command = [sys.executable, "-m", "tests.support.folder_s3", str(folder)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield _Server(process)
        process.terminate()


@pytest.mark.whole("tests/storage/table_search/test_search.py, with few tables")
def test_the_names_of_twelve_thousand_tables_take_a_request_each_and_a_page_reads_only_its_own(tmp_path: Path) -> None:
    names = NAMES
    small_tables(tmp_path / "lake", names)
    with _served(tmp_path) as server:
        catalog = Catalog(server.root)
        began = time.perf_counter()
        catalog.list.begin()
        while len(catalog.list.listing().refs) < 100:
            time.sleep(0.01)
        first = time.perf_counter() - began
        catalog.list.begin(patience=300)
        whole = time.perf_counter() - began
        listing = catalog.list.listing()
        assert [ref.name for ref in listing.refs] == [f"lake/{name}" for name in names]
        assert server.counts() == (LISTED + 1, 0), "one more for the root, which may be a table"
        print(f"100 names after {first:.2f} s, {len(names):,} after {whole:.2f} s, {server.counts()[0]:,} requests")
        assert first < WITHIN / 3
        assert whole < WITHIN

        window = Window(catalog, "")
        window.until(lambda message: "100 of 12,000 read" in message.get("regions", {}).get("lead", ""), 120)
        listed, read = server.counts()
        print(f"the first page: {listed - LISTED - 1} listings and {read} reads of 100 tables")
        assert listed - LISTED - 1 < 1_000
        assert read < 1_500
        window.host.close()

        began = time.perf_counter()
        assert sum(isinstance(place, ServedRoot) for place in places(server.root)) == len(names)
        print(f"audit and tripwires: all places after {time.perf_counter() - began:.2f} s")


MEASURED = """
import resource, subprocess, sys
from pathlib import Path

code = subprocess.run([sys.executable, *sys.argv[2:]], check=False).returncode
Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), "ascii")
sys.exit(code)
"""
"""Runs Python, and writes the memory of the largest process. A small one does it: of a child, the system counts the
memory that its parent had when it began, too."""


@pytest.mark.whole("tests/test_fleet.py and tests/storage/table_search/test_search.py, with few tables")
@pytest.mark.timeout(7_200)
def test_an_audit_of_twelve_thousand_tables_takes_few_requests_each_and_no_more_memory_than_one_of_few(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    small_tables(tmp_path / "lake", NAMES)
    largest = tmp_path / "largest"
    with _served(tmp_path) as server, (tmp_path / "found.jsonl").open("w+b") as found:
        options = [f"--storage-option={name}={value}" for name, value in server.root.storage_options.items()]
        began = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                MEASURED,
                largest,
                "-m",
                "explorer.cli",
                "audit",
                server.root.place,
                "--json",
                *options,
            ],
            cwd=REPOSITORY,
            stdout=found,
            stderr=subprocess.PIPE,
        )
        _, said = process.communicate()
        assert process.returncode == 0, said
        seconds, memory = time.perf_counter() - began, int(largest.read_text("ascii")) << 10
        found.seek(0)
        audited = [json.loads(line) for line in found]
        lists, reads = server.counts()
    record_property("found", {"seconds": round(seconds), "MiB": memory >> 20, "listings": lists, "reads": reads})
    assert sorted(each["table"] for each in audited) == [f"{server.root.place}/{name}" for name in NAMES]
    assert lists == LISTED + 1 + len(NAMES), "one to find each table, one more for the root, and one of each log"
    assert reads <= 4 * len(NAMES), "the hint, the commit, and whether there is a checksum"
    assert memory < MOST_MEMORY
