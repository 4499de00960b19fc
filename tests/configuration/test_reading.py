"""The configuration file: what is read, and the file, the line, and the key of what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.configuration.key_lines import key_lines, spelled
from explorer.configuration.reading import read_configuration
from explorer.configuration.records import TABLES, Configuration
from explorer.core.errors import InvalidConfiguration
from tests.support.at_least_one import at_least_one

GOOD = """\
# a comment

clients = "clients.toml"

[[roots]]
place = "lake"

[[roots]]
place = "s3://bucket/sales"
name = "sales"

[roots.storage_options]
aws_secret_access_key = "tell-nobody-4711"
allow_http = true

[serve]
port = 5008
public_url = [
    # the first
    "https://example.org/lake/",
]

[spark.conf]
"spark.executor.memory" = "4g"

[deadlines]
analysis_seconds = 0.5
"""


def _read(tmp_path: Path, text: str) -> Configuration:
    file = tmp_path / "explorer.toml"
    file.write_text(text, encoding="utf-8")
    return read_configuration(file).values


def test_a_file_is_one_record_whose_paths_begin_at_its_folder(tmp_path: Path) -> None:
    values = _read(tmp_path, GOOD)
    assert values.clients == str(tmp_path / "clients.toml")
    assert [root.place for root in values.roots] == [str(tmp_path / "lake"), "s3://bucket/sales"]
    assert values.roots[1].storage_options == {"aws_secret_access_key": "tell-nobody-4711", "allow_http": True}
    assert (values.serve.port, values.serve.public_url) == (5008, ("https://example.org/lake/",))
    assert values.spark.conf == {"spark.executor.memory": "4g"}
    assert values.deadlines.analysis_seconds == 0.5


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "said"),
    [
        ("port = 5008", "prot = 5008", 17, "serve.prot", "Did you mean port?"),
        ("clients =", "port = 1\nclients =", 3, "port", "Did you mean serve.port?"),
        ("[serve]", "[server]", 16, "server", "Did you mean serve?"),
        ('name = "sales"', 'nmae = "sales"', 10, "roots[2].nmae", "Did you mean name?"),
        ("port = 5008", "zzz = 5008", 17, "serve.zzz", "Known: port, address"),
        ("port = 5008", 'port = "5008"', 17, "serve.port", "must be a whole number, not a text in quotes"),
        ("port = 5008", "port = 70000", 17, "serve.port", "must be a whole number of at most 65535"),
        ("port = 5008", "port = 0", 17, "serve.port", "must be a whole number of at least 1"),
        ("port = 5008", "allow_commits = 1", 17, "serve.allow_commits", "must be true or false, not a whole number"),
        ('"https://example.org/lake/",', '"https://a/", 3', 18, "serve.public_url[2]", "must be a text in quotes"),
        ("allow_http = true", "allow_http = [1]", 14, "roots[2].storage_options.allow_http", "not a list"),
        ('place = "lake"', "", 5, "roots[1]", "has no place"),
        ("analysis_seconds = 0.5", "analysis_seconds = 0", 27, "deadlines.analysis_seconds", "greater than 0"),
        ('[spark.conf]\n"spark.executor.memory" = "4g"', "spark = 3", 23, "serve.spark", "not known"),
        ("[deadlines]", "[limits]\nmax_decoded_bytes = -1\n[deadlines]", 27, "limits.max_decoded_bytes", "at least 1"),
        ("[deadlines]", '[[roles]]\nrole = "viwer"\n[deadlines]', 27, "roles[1].role", "Did you mean viewer?"),
        ("[deadlines]", '[[roles]]\nrole = "zzz"\n[deadlines]', 27, "roles[1].role", "It can be: viewer, committer"),
        ("[deadlines]", '[[roles]]\nrole = "admin"\npeple = ["a"]\n[deadlines]', 28, "roles[1].peple", "mean people?"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_by_file_line_and_key(  # noqa: PLR0917
    tmp_path: Path, old: str, new: str, line: int, key: str, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(InvalidConfiguration) as caught:
        _read(tmp_path, GOOD.replace(old, new))
    error = caught.value
    assert (error.line, error.field, error.path) == (line, key, str(tmp_path / "explorer.toml"))
    assert error.message.startswith(f"{tmp_path / 'explorer.toml'}, line {line}: {key}: ")
    assert said in error.message
    assert "tell-nobody" not in error.message


@pytest.mark.parametrize(
    ("text", "line"), [("a = b", 1), ("[serve\nport = 1", 1), ("x = 1\nx = 2", 2), ('x = """\nno end\n', 2)]
)
def test_what_is_not_toml_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InvalidConfiguration, match="this is not TOML") as caught:
        _read(tmp_path, text)
    assert caught.value.line == line


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"clients = '\xe4'")
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    for file in at_least_one([tmp_path / "nowhere", tmp_path, tmp_path / "latin", tmp_path / "large"]):
        with pytest.raises(InvalidConfiguration, match=str(file)):
            read_configuration(file)


def test_the_file_is_the_named_one_then_that_of_the_variable_then_that_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DELTA_EXPLORER_CONFIG", raising=False)
    assert read_configuration() == read_configuration("off")
    own = tmp_path / "delta-table-explorer" / "explorer.toml"
    own.parent.mkdir()
    for file, port in at_least_one([(own, 1), (tmp_path / "variable", 2), (tmp_path / "named", 3)]):
        file.write_text(f"[serve]\nport = {port}\n", encoding="utf-8")
    assert read_configuration().values.serve.port == 1
    monkeypatch.setenv("DELTA_EXPLORER_CONFIG", str(tmp_path / "variable"))
    assert read_configuration().values.serve.port == 2
    assert read_configuration(tmp_path / "named").values.serve.port == 3
    monkeypatch.setenv("DELTA_EXPLORER_CONFIG", "off")
    assert read_configuration().path is None


def test_lines_are_found_in_every_way_to_write_a_key() -> None:
    text = (
        'a.b = 1\n\n"c d" = """\nx = 1\n[e]\n"""  # over lines\nf = [\n  {g = 1},\n\n  {h = 2},\n]\n'
        "[i]\n[i.j]\nk = 1\n[[l]]\n[[l]]\nm = {n = 1}\n"
    )
    assert {spelled(key): line for key, line in key_lines(text).items()} == {
        "a": 1, "a.b": 1, "c d": 3, "f": 7, "f[1]": 7, "f[1].g": 7, "f[2]": 7, "f[2].h": 7,
        "i": 12, "i.j": 13, "i.j.k": 14, "l": 15, "l[1]": 15, "l[2]": 16, "l[2].m": 17, "l[2].m.n": 17,
    }  # fmt: skip


def test_every_table_has_its_record() -> None:
    named = {name for name, value in msgspec.structs.asdict(Configuration()).items() if _is_table(value)}
    assert set(TABLES) == {"", "roots", "roles", "two_people", "webhooks", *named}


def _is_table(value: Any) -> bool:
    return isinstance(value, msgspec.Struct)
