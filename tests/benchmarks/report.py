"""The page on performance, made of a run's record, and of what was measured once and is too large for a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tests.benchmarks.parts.growth import LINEAR, MOST_MEGABYTES
from tests.benchmarks.sets import REPOSITORY

RECORD = REPOSITORY / "tests" / "benchmarks" / "record.json"
PAGE = REPOSITORY / "docs" / "performance.md"
SPEED = REPOSITORY / "docs" / "guide" / "speed.md"
_BEGIN, _END = "<!-- pages, measured -->\n", "<!-- until here -->\n"

_HEAD = """# Performance

`make bench` writes this page, and measures more than is here: `tests/benchmarks/record.json` has all of it.

The tables: **S** 1,000 commits of 10 files, a checkpoint every 10. **M** 10,000 commits of 19 file actions, a
checkpoint every 100, 50,000 live files. **DV** 100,000 files and 300 commits that mask rows of 1,000 each. **L** one
checkpoint of 1,000,000 files and 100 commits. **C** 100,000 commits of 3 file actions, a checkpoint every 1,000.

Every measurement is a process of its own, readers take turns, and a number is the median of at least five, unless
its section says otherwise. Files are in the system's cache. Except in the cold process, libraries are loaded before the
clock starts. A number in bold misses its goal; the second section shows where its time goes.

Sections measured on the Intel processor, and the second and the growth, are of a virtual machine whose host takes
back unused memory. It is two to three times slower than the other, so compare its ratios, not its times.

{machine}
"""
_PAST = """## Past one process

Set L ten times under other folders: 10,000,500 files, one checkpoint of 1.5 GB. On 2026-11-27, with Spark on
`local[2]` and a heap of 3 GB (1 GB for totals and typed statistics); one run by Spark, whose start is part of the time,
and the median of three in one process.

| what | 1,000,500 files, s | 10,000,500 files, s | driver peak MB | largest worker MB | JVM MB |
|---|---|---|---|---|---|
| list path, size, time in one process | | 1.0 | 1,544 | | |
| totals by Spark | 9.1 | 12.5 | 172 | 345 | 463 |
| files that a condition needs, by Spark | 13.1 | 39.2 | 181 | 611 | 840 |
| every statistic typed, by Spark | 10.7 | 28.6 | 165 | 652 | 692 |
| every file as a line of JSON, by Spark | 34.7 | 249.8 | 252 | 390 | 1,074 |

One process takes about 140 bytes a file for three columns: the limit of 2 GiB of checkpoint is some 14 million such
files. By Spark, each row group is read once, by a worker that holds one at a time. For more files ask for totals
(`snapshot --spark`) and for the files of a condition (`files --where --spark`).
"""
_MOST_PHASES = 4
_STORED = """## Audits of a lake on a store

12,000 tables of one commit in a bucket of versitygw on the loopback, by `audit s3://lake/ --json` in two processes, on
2026-11-30. Other work took most of the machine (2 processors, load 25), so the time is an upper bound; the processor
time is what an idle machine shares among its processors.

| tables | wall s | processor s | listings | reads | largest process MB |
|---|---|---|---|---|---|
| 1,000 | 126 | 32 | 2,012 | 4,000 | 139 |
| 12,000 | 752 | 290 | 24,134 | 48,000 | 146 |

A table takes six requests. A process reads four tables of a store at a time: where each answer takes 100 ms, 300 tables
take 58 s in two processes, and 152 s one by one. Under the same load, `serve` had 100 names after 0.2 s.
"""
_NAMES = {
    "open": "open: version, protocol, schema",
    "list": "open and list all files",
    "statistics": "open and parse all statistics",
    "statistics again": "the same out of what is kept",
    "columns": "open and list all files, all columns",
    "provenance": "provenance of every version alone",
    "history": "history with totals of every version",
    "history again": "the same out of what is kept",
    "snapshots": "ten versions at random, each by itself",
    "ten": "ten versions at random, out of the history",
    "ten again": "the same out of what is kept",
}

_PICTURED = {
    "orders": "the demo's orders",
    "M": "M: 10,000 commits",
    "L": "L: 1,000,000 files",
    "DV": "DV: 100,000 masked files",
    "C": "C: 100,000 commits",
}
_STEPPED = {"orders": "the demo's orders", "M": "M: 10,000 commits"}


def page(record: dict[str, Any]) -> str:
    """The page of a record; parts that it does not have are left out."""
    parts: dict[str, Callable[[list[dict[str, Any]]], Iterator[str]]] = {
        "replay": _replay,
        "phases": partial(_phases, _missed(record)),
        "warm": _warm,
        "remote": _remote,
        "growth": _growth,
        "commits": _commits,
        "audits": _audits,
        "browser": _browser,
        "lake": _lake,
        "data": _data,
        "widget": _widget,
        "spark": _spark,
        "writes": _writes,
        "driver": _driver,
    }
    measured = [record[name] for name in parts if name in record]
    usual = Counter(map(_machine, measured)).most_common(1)[0][0]
    packages = Counter(map(_packages, measured)).most_common(1)[0][0]
    sections = [_HEAD.format(machine=f"{usual} Where a section was measured otherwise, it says so.")]
    for name, section in parts.items():
        if name in record and (name != "lake" or {row["of"] for row in record[name]["rows"]} != {"home"}):
            machine = _machine(record[name])
            # What is as it is above is not said again.
            otherwise = [] if machine == usual else [machine.removesuffix(f", {packages}.").rstrip(".") + ".", ""]
            sections.append("\n".join([*section(record[name]["rows"]), "", *otherwise]))
    return "\n".join([*sections, _PAST, _STORED])


def _replay(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Beside deltalake", "")
    yield from _header(
        "operation",
        "table",
        "here ms",
        "deltalake ms",
        "times faster",
        "goal",
        "peak MB",
        "of it",
    )
    above = ""
    for row in rows:
        if row["operation"] in _NAMES:
            ours, theirs = row["explorer"], row["deltalake"]
            name = _NAMES[row["operation"]]
            yield _line(
                "" if name == above else name,
                row["set"],
                _ms(ours),
                _ms(theirs),
                _mark(theirs["seconds"] / ours["seconds"], row["goal"]),
                f"{row['goal']:g}",
                f"{ours['peak']:.0f}",
                f"{ours['peak'] / theirs['peak']:.2f}",
            )
            above = name
    for row in rows:
        if (row["operation"], row["set"]) == ("list", "L"):
            part = _mark(-row["explorer"]["peak"] / row["deltalake"]["peak"], -0.5, 2)
            yield from ("", f"Peak memory is that of the whole process. The list of L takes {part} of deltalake's; 0.5")
            yield from ("is the goal.", "")
    yield from _header("beside another, goal at most its time", "table", "here ms", "the other ms", "of it")
    for row in rows:
        if row["operation"] == "open beside the kernel":
            part = row["explorer"]["seconds"] / row["kernel"]["seconds"]
            yield _line(
                "open, the kernel's wrapper", row["set"], _ms(row["explorer"]), _ms(row["kernel"]), _mark(-part, -1)
            )
    for row in rows:
        if row["operation"] == "cold process":
            part = row["explorer"]["seconds"] / row["deltalake"]["seconds"]
            what = "start, import, open, list, deltalake"
            yield _line(what, "S", _ms(row["explorer"]), _ms(row["deltalake"]), _mark(-part, -1))


def _missed(record: dict[str, Any]) -> set[tuple[str, str]]:
    """The operations that take longer than their goal, each with its table."""
    rows = [row for row in record["replay"]["rows"] if row["operation"] in _NAMES] if "replay" in record else []
    return {
        (row["operation"], row["set"])
        for row in rows
        if row["deltalake"]["seconds"] / row["explorer"]["seconds"] < row["goal"]
    }


def _phases(missed: set[tuple[str, str]], rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Where the time goes", "")
    yield (
        "deltalake's `history()` reads the provenance of each commit alone. A history here follows every file action, "
        "so that files, bytes and rows of every version are known. Milliseconds of what misses its goal, and of its "
        "longest phases, in a process whose clocks slow it a little:"
    )
    yield ""
    for row in rows:
        if (row["operation"], row["set"]) in missed:
            most = sorted(row["phases"].items(), key=lambda phase: phase[0] != "all else" and -phase[1])
            said = "; ".join(f"{phase} {milliseconds:.0f}" for phase, milliseconds in most[:_MOST_PHASES])
            yield f"- {row['operation']} {row['set']}, {sum(row['phases'].values()):.0f}: {said}"
    for row in rows:
        if row["operation"] == "cold process":
            spent = ", ".join(f"{part.removeprefix('import ')} {spent:.0f}" for part, spent in row["phases"].items())
            yield from ("", f"A cold process spends most of its time in imports, in milliseconds: {spent}.")


def _warm(rows: list[dict[str, Any]]) -> Iterator[str]:
    build = next(row for row in rows if row["goal"] is None)
    yield from (f"## Moving through {build['versions']:,} versions of {build['files']:,} files", "")
    yield from _header("movement", "median ms", "95th percentile ms", "goal ms")
    for row in rows:
        if row["goal"] is not None:
            yield _line(
                row["movement"], f"{_mark(-row['median'], -row['goal'], 3)}", f"{row['p95']:.3f}", f"{row['goal']:g}"
            )
    yield from ("", f"The history is read once, in {build['median'] / 1e3:.1f} s.")


def _remote(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## On an object store", "")
    yield from _header(
        *("operation", "added to each request", "here s", "deltalake s", "times faster", "goal"),
        "listing alone s",
        "commits read again",
    )
    for row in rows:
        ours, theirs, commits = row["explorer"]["seconds"], row["deltalake"]["seconds"], row.get("commits")
        listing = row.get("listing")
        yield _line(
            *(row["operation"], f"{row['milliseconds']:g} ms", f"{ours:.2f}", f"{theirs:.2f}"),
            *(_mark(theirs / ours, row["goal"]), f"{row['goal']:g}"),
            *("" if listing is None else f"{listing['seconds']:.2f}", "" if commits is None else f"{commits}"),
        )


def _growth(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Growth", "")
    yield (
        "Processor seconds and peak megabytes while one thing doubles, three times. The exponent is the slope of the "
        f"logarithms: 1 is linear, more than {LINEAR:g} would not be. No peak may be above {MOST_MEGABYTES:,} MB."
    )
    yield ""
    yield from _header("of", "operation", "sizes", "processor s", "peak MB", "exponent")
    above = ""
    for row in rows:
        yield _line(
            row["unit"] if row["unit"] != above else "",
            _NAMES.get(row["operation"], "changes of the last ten versions"),
            f"{row['sizes'][0]:,} to {row['sizes'][-1]:,}",
            f"{row['processor'][0]:.2f} to {row['processor'][-1]:.2f}",
            f"{row['peak'][0]:.0f} to {_mark(-max(row['peak']), -MOST_MEGABYTES, 0)}",
            _mark(-row["exponent"], -LINEAR, 2),
        )
        above = row["unit"]


def _commits(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Plans and commits", "")
    yield from _header("plan of a new description", "open and plan ms", "plan on an open table ms", "goal ms")
    for row in _of(rows, "plan"):
        yield _line(row["what"], f"{row['opened']:.1f}", _mark(-row["open"], -row["goal"]), f"{row['goal']:g}")
    yield ""
    yield from _header(
        "commit", "bare put ms", "until visible ms", "of it", "goal", "two files ms", "whole ms", "of it"
    )
    for row in _of(rows, "put"):
        first = _mark(-row["visible"] / row["put"], -row["goal"], 2)
        put, visible, puts, whole = (f"{row[name]:.2f}" for name in ("put", "visible", "puts", "whole"))
        last = f"{row['whole'] / row['put']:.2f}"
        yield _line(row["what"], put, visible, first, f"{row['goal']:g}", puts, whole, last)
    yield ""
    yield (
        "The bare put is the durable creation of a file of the same content in the same folder, right after a plan. "
        "The whole ends when the version checksum is written too, which need not outlast a crash; two files are the "
        "bare put and a bare plain file. Medians: one commit in ten writes a checkpoint too."
    )
    yield ""
    yield from _header("a hundred changes of a property in a row", "in memory s", "times as long", "on disk s")
    row_of = _of(rows, "row")
    for row in row_of:
        longer = row["memory"] / row_of[0]["memory"]
        yield _line(row["what"], f"{row['memory']:.2f}", f"{longer:.1f}", f"{row['disk']:.2f}")
    yield ""
    yield (
        "Each writes a checkpoint at the hundredth. On disk every commit here waits until it would outlast a crash of "
        "the machine; deltalake does not wait."
    )


def _audits(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Audits", "")
    yield from _header("from the log alone", "here s", "goal s", "deltalake opens it, s", "of it", "peak MB")
    for row in rows:
        ours, theirs = row["explorer"], row["deltalake"]
        part = ours["seconds"] / theirs["seconds"]
        seconds = _mark(-ours["seconds"], -row["goal"], 2)
        yield _line(
            row["what"], seconds, f"{row['goal']:g}", f"{theirs['seconds']:.2f}", f"{part:.1f}", f"{ours['peak']:.0f}"
        )
    yield ""
    yield (
        "Every rule that needs no more than the log. The thousand tables are read in a process for each processor; the "
        "peak is that of the largest process. deltalake opens as many at a time as there are processors."
    )


def readme(text: str, record: dict[str, Any]) -> str:
    """The page of the guide with the table of the pages as a record has it."""
    if "browser" not in record:
        return text
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    found = record["browser"]
    machine = found["machine"]
    where = f"On {machine['processors']} cores at a load of {found['load']:.1f}, in Chromium with an empty cache"
    lines = [
        f"{where}, on {machine['at']}; bold misses the goal:",
        "",
        *_header("", "measured", "goal"),
        *_in_short([*found["rows"], *record.get("lake", {"rows": []})["rows"]]),
    ]
    return before + _BEGIN + "\n".join(lines) + "\n" + _END + after


def _in_short(rows: list[dict[str, Any]]) -> Iterator[str]:
    pictures = {(row["what"], row["turn"]): row for row in _of(rows, "picture")}
    for what, words in _PICTURED.items():
        first, again = pictures[what, "first"], pictures[what, "again"]
        goals = ", ".join(f"{row['goal']:g} s {row['turn']}" for row in (first, again) if row["goal"])
        seen = f"{_goal_met(first, 'picture')} s first, {_goal_met(again, 'picture')} s again"
        yield _line(f"first picture of {words}", seen, goals)
    for what, words in _STEPPED.items():
        steps = [row for row in _of(rows, "step") if row["what"] == what]
        slowest = max(steps, key=lambda row: row["p95"])
        seen = f"{min(row['median'] for row in steps) * 1e3:.0f} to {max(row['median'] for row in steps) * 1e3:.0f} ms"
        seen += f"; 95 % within {_goal_met(slowest, 'p95', 1e3)} ms on `{slowest['tab']}`, the slowest"
        yield _line(f"a step to another version, {words}", seen, f"95 % within {slowest['goal'] * 1e3:.0f} ms")
    slowest = max(_of(rows, "tab"), key=lambda row: row["seconds"])
    words = f"a tab of a table with 2,000 columns: `{slowest['tab']}`, the slowest"
    yield _line(words, f"{_goal_met(slowest, 'seconds')} s", f"{slowest['goal']:g} s")
    if home := _of(rows, "home"):
        names, whole = home[:2]
        seen = f"names in {_goal_met(names, 'seconds')} s, all read in {whole['seconds']:.1f} s"
        yield _line("1,000 tables", seen, f"names in {names['goal']:g} s")


def _browser(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## In the browser", "")
    yield from _header("page", "turn", "picture s", "goal s", "timeline drawn s", "all read s")
    for row in _of(rows, "picture"):
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        picture = _goal_met(row, "picture")
        yield _line(_PICTURED[row["what"]], row["turn"], picture, goal, f"{row['drawn']:.2f}", f"{row['whole']:.2f}")
    yield ""
    yield (
        "Single runs, each in a window with an empty cache, on a server that showed another table before; again is on "
        "a new server, with what the first kept. The picture has the totals and the commits."
    )
    yield ""
    yield "Steps to another version, other tabs, and the list of tables are in [the guide](guide/speed.md)."


def _lake(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Many tables in the browser", "")
    for kind, title in (("home", "1,000 tables of 20 commits"), ("palette", "the palette on C: 100,000 commits")):
        if found := _of(rows, kind):
            yield from _header(title, "s", "goal s")
        for row in found:
            measured = "seconds" if "seconds" in row else "median"
            yield _line(row["what"], _goal_met(row, measured), "" if row["goal"] is None else f"{row['goal']:g}")
        if found:
            yield ""
    yield "Names, and all read: one run, from opening the address of a server with an empty cache."
    if any(row["what"].startswith("timeline") for row in _of(rows, "home")):
        yield "The timeline: 30 days, until all lanes in sight are drawn, the median of three turns."
    if any(row["what"].startswith("palette") for row in _of(rows, "home")):
        yield "The palette: from the last key to the last change anywhere on the page, the median of three turns."
        yield "Facets: without a browser, the median of 15 turns."


def _data(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## From a click on Data to its first rows", "")
    yield from _header("table", "median ms", "95th percentile ms", "goal ms")
    for row in rows:
        goal, median = f"{row['goal'] * 1e3:.0f}", f"{row['median'] * 1e3:.0f}"
        yield _line(row["what"], median, _goal_met(row, "p95", 1e3), goal)
    yield ""
    yield (
        "Until the rows in sight are painted; each click is in a window of its own that has drawn the table's "
        "timeline. linked-1000 has 1,000 files of 100 MB; its store answers each request after 20 ms."
    )


def _widget(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## In JupyterLab", "")
    yield from _header("the widget of", "turn", "shown s", "goal s")
    for row in _of(rows, "widget"):
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        yield _line(_PICTURED[row["what"]], row["turn"], _goal_met(row, "seconds"), goal)
    yield ""
    yield from _header("a page of the list of files of", "median ms", "slowest ms", "goal ms")
    for row in _of(rows, "page"):
        median, slowest = _goal_met(row, "seconds", 1e3), _goal_met({**row, "seconds": row["slowest"]}, "seconds", 1e3)
        yield _line(_PICTURED[row["what"]], median, slowest, f"{row['goal'] * 1e3:.0f}")
    yield ""
    yield from _header("a notebook saved with the state of its widgets", "kB", "goal kB")
    for row in _of(rows, "saved"):
        yield _line(row["what"], _mark(-row["kilobytes"], -row["goal"], 0), f"{row['goal']:g}")
    yield ""
    yield (
        "From running a cell, in a kernel that has shown another table, to the strip and the list on the screen; from "
        "a click to another first row. Medians of three kernels; again is with what the first kept."
    )


def _goal_met(row: dict[str, Any], name: str, times: float = 1.0) -> str:
    """A time of a record, bold where it misses the goal of the record."""
    digits = 2 if times == 1.0 else 0
    return _mark(-row[name] * times, -(row["goal"] or float("inf")) * times, digits)


def _spark(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Rows through Spark", "")
    yield from _compared([row for row in rows if not row["what"].startswith("first ")], "s", 1.0, 2)
    yield ""
    yield "Medians of seven runs in turns (three of the row diff), on a session that has run each three times."
    yield from ("", "## First rows, without Spark", "")
    yield from _compared([row for row in rows if row["what"].startswith("first ")], "ms", 1e3, 0)
    yield ""
    yield (
        "Each reader opens the table and reads 100 rows; of the one on S3 the log is read before. Medians of seven "
        "runs in turns after three to warm up; a percentile is of 20 runs, a process of its own is one."
    )


def _compared(rows: list[dict[str, Any]], unit: str, times: float, digits: int) -> Iterator[str]:
    """A table of times beside others' times."""
    yield from _header("what", f"here {unit}", f"the other {unit}", "of it", f"goal {unit}")
    for row in rows:
        theirs, goal, ours = row.get("theirs"), row.get("goal"), row["ours"] * times
        yield _line(
            row["what"],
            f"{ours:.{digits}f}" if goal is None else _mark(-ours, -goal * times, digits),
            "" if theirs is None else f"{theirs * times:.{digits}f}",
            "" if theirs is None else f"{row['ours'] / theirs:.2f}",
            "" if goal is None else f"{goal * times:.{digits}f}",
        )


def _writes(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Rows written", "")
    yield from _header("what", "here s", "the other s", "of it", "goal")
    for row in rows:
        part, goal = row["ours"] / row["theirs"], row["goal"] / row["theirs"]
        yield _line(
            row["what"], f"{row['ours']:.2f}", f"{row['theirs']:.2f}", _mark(-part, -goal, 2), f"at most {goal:.1f}"
        )
    yield ""
    yield "Medians of three runs in turns after one to warm up, each on a fresh copy of the table."


def _driver(rows: list[dict[str, Any]]) -> Iterator[str]:
    least = min(row["rows"] for row in rows)
    peaks = {row["way"]: row["peak"] for row in rows if row["rows"] == least}
    yield from ("## Memory while rows are written and fetched", "")
    yield from _header("rows of the table", "are", "process MB", f"of that of {least:,}", "goal", "JVM MB")
    for row in rows:
        part = _mark(-row["peak"] / peaks[row["way"]], -1.1, 2)
        jvm = f"{row['jvm']:.0f}"
        yield _line(f"{row['rows']:,}", row["way"], f"{row['peak']:.0f}", part, "at most 1.1", jvm)
    yield ""
    yield (
        "Peaks of a process that appends the rows, updates 1 % of them and deletes 0.1 % by deletion vectors; or that "
        "fetches all rows of one file with one row group, and writes them to a file, in pieces of 250,000 rows. Its "
        "JVM runs the tasks too."
    )


def _of(rows: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["of"] == table]


def _machine(part: dict[str, Any]) -> str:
    found = part["machine"]
    return (
        f"Measured on {found['at']}: {found['processor']}, {found['processors']} processors, {found['memory']} GB, "
        f"{found['system']}, Python {found['python']}, {_packages(part)}."
    )


def _packages(part: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in part["machine"]["packages"].items())


def _header(*names: str) -> Iterable[str]:
    return _line(*names), "|" + "---|" * len(names)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _ms(measured: dict[str, float]) -> str:
    return f"{measured['seconds'] * 1e3:.1f}"


def _mark(value: float, goal: float, digits: int = 1) -> str:
    """The number, bold where it misses its goal; negative ones are those that must stay below it."""
    text = f"{abs(value):.{digits}f}"
    return text if value >= goal else f"**{text}**"
