"""The configuration in commands: what is in force, what precedes what, and that no secret is shown."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.catalogs.settings import settings_from
from explorer.cli import in_force
from explorer.cli.app import command_group, run
from explorer.cli.commands.serving import LimitFlags, ServeFlags
from explorer.cli.row_output import check_output_options
from explorer.configuration.reading import read_configuration
from explorer.configuration.records import TABLES, VARIABLES, Configuration, Limits, Serve
from explorer.core.errors import InvalidConfiguration, RequestError, TableNotFound
from explorer.storage import open_store, served_root
from explorer.variables import CACHE_VARIABLE
from explorer.web.limits import PersonLimits
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write
from tests.support.shared_tables import REPOSITORY

SECRET = "tell-nobody-4711"
OTHER_SIGN_IN = ("token", "client_id", "client_secret", "client_secret_file", "oauth_url")
"""What signs in to a catalog in place of the file of a token, so that it is not in the same example."""
GUIDE = REPOSITORY / "docs" / "guide" / "settings.md"


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine."""
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


def _file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "explorer.toml"
    file.write_text(text, encoding="utf-8")
    return file


def _checked(file: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert run(["config", "check", "--json", "--config", str(file)]) == 0
    return {each["key"]: each for each in json.loads(capfd.readouterr().out)["settings"]}


def test_check_prints_each_setting_and_where_it_comes_from(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(
        tmp_path,
        '[serve]\nport = 5008\n[spark]\nmaster = "local[2]"\n[cache]\nenabled = false\n',
    )
    monkeypatch.setenv("DELTA_EXPLORER_SPARK", "local[3]")
    settings = _checked(file, capfd)
    port, master, address = settings["serve.port"], settings["spark.master"], settings["serve.address"]
    assert (port["value"], port["source"], port["line"]) == (5008, "file", 2)
    assert (master["value"], master["source"], master["variable"]) == (
        "local[3]",
        "environment",
        "DELTA_EXPLORER_SPARK",
    )
    assert (address["value"], address["source"], address["line"]) == ("127.0.0.1", "default", None)
    assert (settings["cache.enabled"]["value"], settings["cache.enabled"]["source"]) == (False, "file")
    assert run(["config", "--config", str(file)]) == 0
    shown = capfd.readouterr()
    assert re.search(r"serve\.port +5008 +line 2", shown.out)
    assert str(file) in shown.err


def test_check_hides_secrets_and_says_when_others_can_read_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = _file(
        tmp_path,
        f'[storage_options]\naws_secret_access_key = "{SECRET}"\naws_region = "eu-west-1"\n'
        f'[spark.conf]\n"spark.hadoop.fs.s3a.secret.key" = "{SECRET}"\n',
    )
    file.chmod(0o644)
    for flags in at_least_one([[], ["--json"]]):
        assert run(["config", *flags, "--config", str(file)]) == 0
        shown = capfd.readouterr()
        assert SECRET not in shown.out + shown.err
        assert "***" in shown.out
        assert "eu-west-1" in shown.out
    assert run(["config", "--config", str(file)]) == 0
    assert "chmod 600" in capfd.readouterr().err
    file.chmod(0o600)
    assert run(["config", "--config", str(file)]) == 0
    assert "chmod" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[[roots]]\nplace = "nowhere"', 2, "is not a folder"),
        ('[[roots]]\nplace = "dbfs:/mnt/x"', 2, "Databricks"),
        ('[[roots]]\nplace = "s3://b/t"\nstorage_options = {nonsense = "1"}', 2, "nonsense"),
        ("[serve]\nprot = 1", 2, "Did you mean port?"),
    ],
)
def test_check_names_what_is_wrong(
    tmp_path: Path, text: str, line: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, text)
    assert run(["config", "check", "--json", "--config", str(file)]) == 2
    error = json.loads(capfd.readouterr().err)
    assert (error["error"], error["line"], error["path"]) == ("InvalidConfiguration", line, str(file))
    assert said in error["message"]


def test_a_wrong_file_stops_every_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, "prot = 1")
    for command in at_least_one([["snapshot", str(tmp_path)], ["cache", "list"], ["serve", str(tmp_path)]]):
        assert run([*command, "--config", str(file)]) == 2
        assert "line 1: prot: this key is not known" in capfd.readouterr().err


def test_a_root_of_the_file_is_audited_without_being_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(open_store(tmp_path / "lake" / "orders"), {0: (PROTOCOL, METADATA, add("a"))})
    file = _file(tmp_path, '[[roots]]\nplace = "lake"\n')
    assert run(["audit", "--json", "--config", str(file)]) == 0
    assert json.loads(capfd.readouterr().out)["table"] == f"file://{tmp_path}/lake/orders"
    assert run(["audit", "--json"]) == 2
    assert "[[roots]]" in json.loads(capfd.readouterr().err)["message"]


def test_options_of_a_place_are_those_of_its_root_under_those_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(
        tmp_path,
        '[storage_options]\nregion = "other"\n[[roots]]\nplace = "s3://lake"\nstorage_options = {region = "lake"}\n'
        '[[roots]]\nplace = "s3://lake/deep"\nstorage_options = {region = "deep", allow_http = true, limit = 3}\n',
    )
    seen = dict[str, dict[str, str]]()

    def command(*, table: str) -> int:
        seen.update({place: served_root.options_of(place) for place in places})
        return 0

    places = ["s3://lake", "s3://lake/t", "s3://lake/deep/t", "s3://lake-2/t", str(tmp_path)]
    in_force.configured(command)(table="t", config_file=file, storage_option=["aws_profile=p=q"])
    assert {place: options.pop("aws_profile") for place, options in seen.items()} == dict.fromkeys(places, "p=q")
    assert seen == {
        "s3://lake": {"region": "lake"},
        "s3://lake/t": {"region": "lake"},
        "s3://lake/deep/t": {"region": "deep", "allow_http": "true", "limit": "3"},
        "s3://lake-2/t": {"region": "other"},
        str(tmp_path): {"region": "other"},
    }
    assert served_root.options_of("s3://lake/t") == {}, "it ends with the command"


def test_variables_of_the_file_hold_for_the_command_alone_and_yield_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(
        tmp_path,
        'clients = "c.toml"\ndebug = true\n[serve]\nactivity = "r"\n'
        '[spark]\nmaster = "local[2]"\n[cache]\nenabled = false\nfolder = "f"\n'
        "[limits]\n"
        "max_checkpoint_bytes = 5\nmax_decoded_bytes = 6\nstrict_types = true\n[deadlines]\nanalysis_seconds = 7\n"
        'expression_seconds = 8.5\n[unity_catalog]\nurl = "https://c"\ntoken_file = "t"\nfolders = ["l", "/m"]\n'
        "allow_http = true\n",
    )
    seen = dict[str, str | None]()

    def command() -> int:
        seen.update({name: os.environ.get(name) for name in VARIABLES.values()})
        return 0

    monkeypatch.setenv("DELTA_EXPLORER_SPARK", "local[9]")
    monkeypatch.setenv("DELTA_EXPLORER_DEBUG", "")  # the end of a whole command takes it back, and this is none
    in_force.configured(command)(config_file=file)
    by_key = {key: seen[variable] for key, variable in VARIABLES.items()}
    assert by_key == {
        ("clients",): str(tmp_path / "c.toml"),
        ("debug",): "1",
        ("serve", "activity"): str(tmp_path / "r"),
        ("spark", "master"): "local[9]",
        ("cache", "folder"): "off",
        ("limits", "max_checkpoint_bytes"): "5",
        ("limits", "max_decoded_bytes"): "6",
        ("limits", "strict_types"): "1",
        ("deadlines", "analysis_seconds"): "7.0",
        ("deadlines", "expression_seconds"): "8.5",
        ("unity_catalog", "url"): "https://c",
        ("unity_catalog", "token_file"): str(tmp_path / "t"),
        ("unity_catalog", "folders"): f"{tmp_path}/l:/m",
        ("unity_catalog", "allow_http"): "1",
        ("notices", "folder"): None,
    } | {
        ("unity_catalog", key): None
        for key in ("token", "client_id", "client_secret", "client_secret_file", "oauth_url")
    }
    assert os.environ["DELTA_EXPLORER_SPARK"] == "local[9]"
    assert CACHE_VARIABLE not in os.environ


@pytest.mark.parametrize("text", [f"{SECRET}", f"={SECRET}"])
def test_a_storage_option_that_is_no_pair_is_not_repeated(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["snapshot", str(tmp_path), "--storage-option", "a=b", "--storage-option", text]) == 2
    error = capfd.readouterr().err
    assert "Storage option 2 is not NAME=VALUE" in error
    assert SECRET not in error


def test_flags_of_serve_precede_the_file() -> None:
    values = Serve(port=1, address="::1", public_url=("https://a/",), allow_commits=True, sign="key")
    assert ServeFlags().over(values) == values
    flags = ServeFlags(port=2, address="0.0.0.0", public_url=["https://b/"], allow_commits=False, sign=Path("k"))  # noqa: S104
    chosen = flags.over(values)
    assert (chosen.port, chosen.address, list(chosen.public_url)) == (2, "0.0.0.0", ["https://b/"])  # noqa: S104
    assert (chosen.allow_commits, str(chosen.sign)) == (False, "k")


def test_flags_of_limits_precede_the_file() -> None:
    values = Limits(max_decoded_bytes=5, pages_per_person=6, spark_jobs=7)
    assert LimitFlags().over(values) == values
    chosen = LimitFlags(pages_per_person=8, jobs_per_person=9).over(values)
    assert PersonLimits.of(chosen) == PersonLimits(pages=8, jobs=9, spark_jobs=7)
    assert chosen.max_decoded_bytes == 5


def test_every_flag_of_serve_and_every_shared_option_has_its_key() -> None:
    group: Any = command_group()
    options = {each.name for each in group.commands["serve"].params if each.param_type_name == "option"}
    shared = {"spark", "spark_conf", "clients", "storage_option", "config_file", "json", "help"}
    limits = {each.name for each in fields(LimitFlags)}
    assert {each.name for each in fields(ServeFlags)} | limits == options - shared
    assert limits < set(Limits.__struct_fields__)
    assert {each.name for each in fields(ServeFlags)} == set(Serve.__struct_fields__)
    assert {option.name for option in group.params} == {"debug", "no_cache"}
    assert {"clients", "debug", "storage_options", "spark", "cache"} <= set(Configuration.__struct_fields__)


KEYS = {
    "--storage-option": "storage_options",
    "--spark": "spark.master",
    "--spark-conf": "spark.conf",
    "--clients": "clients",
    "--debug": "debug",
    "--no-cache": "cache.enabled",
    "--exact-csv": "exact_csv",
    "--processes": "audit.processes",
    "--every": "notices.every",
    "--pages-per-person": "limits.pages_per_person",
    "--jobs-per-person": "limits.jobs_per_person",
    "--exports-per-person": "limits.exports_per_person",
    "--spark-jobs": "limits.spark_jobs",
}
OF_ONE_CALL = {
    *(
        "--accept",
        "--after",
        "--all",
        "--archive",
        "--author",
        "--beside",
        "--by",
        "--case",
        "--chain-head",
        "--check-rows",
    ),
    *("--column", "--commit", "--config", "--details", "--diff", "--fail-on", "--file", "--files", "--finding"),
    *("--folder", "--footers", "--from", "--html", "--inferred", "--json", "--keep", "--key", "--limit", "--no-totals"),
    *("--note", "--operation", "--output", "--plan", "--reason", "--remove", "--request", "--resume"),
    *("--row-id", "--rows", "--rules", "--schema-version", "--signature", "--since", "--skip-holes", "--state"),
    *("--statement", "--summary", "--text", "--timestamp", "--title", "--to", "--try", "--until", "--user"),
    *("--verify", "--version", "--what-if", "--where", "--yes", "--across-renames", "--cloud-events", "--expect"),
    *("--intents", "--kind", "--layout", "--other-version", "--table", "--ask", "--watch"),
}
"""Options that say what is done, read, or written once: they are no settings."""


def test_every_option_has_its_key_or_is_of_one_call() -> None:
    group: Any = command_group()
    flags = {each.opts[0] for command in group.commands.values() for each in command.params if each.opts[0][:2] == "--"}
    flags |= {each.opts[0] for each in group.params}
    of_serve = {f"--{name.replace('_', '-')}" for name in Serve.__struct_fields__}
    assert flags - of_serve - set(KEYS) == OF_ONE_CALL
    known = {f"{table}.{name}".strip(".") for table, record in TABLES.items() for name in record.__struct_fields__}
    assert set(KEYS.values()) <= known


def test_every_command_takes_the_configuration_and_those_of_tables_take_options_of_stores() -> None:
    group: Any = command_group()
    for name, command in at_least_one(group.commands.items()):
        names = {each.name for each in command.params}
        assert "config_file" in names, name
        assert ("storage_option" in names) == bool({"table", "tables", "roots"} & names), name


def test_the_example_of_the_guide_has_every_key_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    settings = tmp_path / "aws"
    settings.write_text("[profile production]\nregion = eu-west-1\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(settings))
    (tmp_path / "lake" / "sales").mkdir(parents=True)
    for secret, text in {"webhook-secret": f"whsec_{b64encode(bytes(24)).decode()}", "mail-password": "x"}.items():
        (tmp_path / secret).write_text(text, "utf-8")
        (tmp_path / secret).chmod(0o600)
    file = _file(tmp_path, example.replace('"/lake"', '"lake"'))
    lines = read_configuration(file, lines=True).lines
    keys = {(str(key[0]) if len(key) > 1 else "", str(key[-1])) for key in lines if isinstance(key[-1], str)}
    for table, record in at_least_one(TABLES.items()):
        for name in at_least_one(record.__struct_fields__):
            assert (table, name) in keys or (table == "unity_catalog" and name in OTHER_SIGN_IN), f"{table}.{name}"
    told = _checked(file, capfd)
    elsewhere = {"roots[1].name", *(f"unity_catalog.{name}" for name in OTHER_SIGN_IN)}
    assert {each["key"] for each in told.values() if each["source"] != "file"} == elsewhere
    page = GUIDE.read_text("utf-8")
    for name in at_least_one(OTHER_SIGN_IN):
        assert f"`{name}`" in page or f"{name} = " in page
    for key, variable in at_least_one(VARIABLES.items()):
        assert f"| `{variable}` | `{'.'.join(map(str, key))}` |" in page


SERVERS = """
[[roots]]
place = "s3://lake/shop"
name = "one"
storage_options = {aws_endpoint = "http://127.0.0.1:1"}
[[roots]]
place = "s3://lake/shop"
name = "two"
storage_options = {aws_endpoint = "http://127.0.0.1:2"}
[[roots]]
place = "uc://main.shop"
storage_options = {aws_endpoint = "http://127.0.0.1:3"}
"""


def test_roots_of_two_servers_with_one_address_are_both_served_each_with_its_options(tmp_path: Path) -> None:
    with in_force._using(_file(tmp_path, SERVERS), {}):
        roots = in_force.roots_of(None, "ROOT")
    assert [(root.name, root.storage_options["aws_endpoint"][-1:]) for root in roots] == [
        ("one", "1"), ("two", "2"), ("", "3"),
    ]  # fmt: skip


def test_a_table_below_several_roots_needs_an_option_that_says_which(tmp_path: Path) -> None:
    file = _file(tmp_path, SERVERS)
    with in_force._using(file, {}), pytest.raises(RequestError, match="one and two"):
        served_root.options_of("s3a://lake/shop/orders")
    with in_force._using(file, {"aws_endpoint": "http://127.0.0.1:2"}):
        (root,) = in_force.roots_of(["s3://lake/shop/"], "ROOT")
    assert (root.name, root.storage_options) == ("two", {"aws_endpoint": "http://127.0.0.1:2"})


def test_options_of_a_root_in_a_catalog_are_those_of_its_tables(tmp_path: Path) -> None:
    with in_force._using(_file(tmp_path, SERVERS), {}):
        assert served_root.options_of("uc://main.shop.orders") == {"aws_endpoint": "http://127.0.0.1:3"}
        assert served_root.options_of("uc://main.shopping.orders") == {}


def test_a_root_beside_the_folder_of_the_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    with in_force._using(_file(tmp_path / "settings", '[[roots]]\nplace = "../lake/"\nname = "ours"\n'), {}):
        for places in at_least_one([None, [str(tmp_path / "lake")], [f"{tmp_path}/other/../lake/"]]):
            (root,) = in_force.roots_of(places, "ROOT")
            assert (root.name, os.path.normpath(root.place)) == ("ours", str(tmp_path / "lake"))


def test_check_takes_roots_in_a_catalog(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNITY_CATALOG_URL", "http://127.0.0.1:1")
    settings = _checked(_file(tmp_path, '[[roots]]\nplace = "uc://main"\n[[roots]]\nplace = "uc://"\n'), capfd)
    assert [settings[f"roots[{place}].place"]["value"] for place in (1, 2)] == ["uc://main", "uc://"]
    assert run(["config", "--config", str(_file(tmp_path, '[[roots]]\nplace = "uc://a.b.c.d"\n'))]) == 2
    assert "line 2: roots[1].place: 'uc://a.b.c.d'" in capfd.readouterr().err


def test_check_hides_the_token_of_an_address_of_spark_in_the_environment(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELTA_EXPLORER_SPARK", f"sc://host:443/;token={SECRET}")
    assert _checked(_file(tmp_path, ""), capfd)["spark.master"]["value"] == "sc://host:443/;token=***"


def test_the_record_shows_no_value(tmp_path: Path) -> None:
    file = read_configuration(_file(tmp_path, f'[storage_options]\naws_secret_access_key = "{SECRET}"\n'))
    assert SECRET not in repr(file)


def test_values_of_the_record_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Configuration().debug = True  # type: ignore[misc]
    assert msgspec.structs.asdict(Configuration())["roots"] == ()


CATALOG = '[unity_catalog]\nurl = "https://ours"\ntoken = "tell-nobody-4711"\n'


def test_the_sign_in_of_the_file_is_sent_to_the_catalog_of_the_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, CATALOG)
    with in_force._using(file, {}):
        assert (settings_from().url, settings_from().token) == ("https://ours", SECRET)
    monkeypatch.setenv("UNITY_CATALOG_URL", "https://theirs")
    with in_force._using(file, {}):
        assert (settings_from().url, settings_from().token) == ("https://theirs", "")
    assert _checked(file, capfd)["unity_catalog.token"]["value"] is None
    monkeypatch.delenv("UNITY_CATALOG_URL")
    for variable in at_least_one(["UNITY_CATALOG_CLIENT_ID", "UNITY_CATALOG_TOKEN_FILE"]):
        monkeypatch.setenv(variable, str(_file(tmp_path / "..", "another-sign-in")))
        with in_force._using(file, {}):
            assert "UNITY_CATALOG_TOKEN" not in os.environ
        monkeypatch.delenv(variable)
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", f"other-{SECRET}")
    told = _checked(file, capfd)["unity_catalog.token"]
    assert (told["value"], told["source"]) == ("***", "environment")


def test_check_hides_the_token_of_a_catalog(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, CATALOG)
    assert _checked(file, capfd)["unity_catalog.token"]["value"] == "***"
    file.chmod(0o644)
    assert run(["config", "--config", str(file)]) == 0
    shown = capfd.readouterr()
    assert (SECRET in shown.out + shown.err, "chmod 600" in shown.err) == (False, True)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('token = "x"', 2, "has a sign-in and no url"),
        ('url = "https://c"\ntoken = "x"\ntoken_file = "y"', 4, "has a secret itself and the file of it"),
    ],
)
def test_a_sign_in_without_its_server_or_twice_is_refused(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(InvalidConfiguration, match=said) as caught:
        read_configuration(_file(tmp_path, f"[unity_catalog]\n{text}\n"))
    assert caught.value.line == line


def test_a_token_is_read_from_its_file_each_time_and_a_wrong_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "token"
    variables = {"UNITY_CATALOG_URL": "https://c", "UNITY_CATALOG_TOKEN_FILE": str(file)}
    for token in at_least_one(["first", "renewed"]):
        file.write_text(f"{token}\n", encoding="utf-8")
        assert settings_from(variables).token == token
    for content in at_least_one([b"", b"\xe4", b"x" * 70_000]):
        file.write_bytes(content)
        with pytest.raises(RequestError, match="UNITY_CATALOG_TOKEN_FILE"):
            settings_from(variables)
    file.unlink()
    with pytest.raises(RequestError, match="No such file"):
        settings_from(variables)


def test_python_programs_use_the_options_and_the_variables_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(open_store(tmp_path / "lake" / "orders"), {0: (PROTOCOL, METADATA, add("a"))})
    file = _file(
        tmp_path,
        '[[roots]]\nplace = "lake"\n[[roots]]\nplace = "s3://b"\nstorage_options = {nonsense = "1"}\n'
        "[deadlines]\nanalysis_seconds = 7\n[audit]\nprocesses = 1\n",
    )
    monkeypatch.setenv("DELTA_EXPLORER_CONFIG", str(file))
    explorer.open_table(tmp_path / "lake" / "orders")
    assert os.environ["DELTA_EXPLORER_ANALYSIS_SECONDS"] == "7.0"
    with pytest.raises(RequestError, match="nonsense"):
        explorer.open_table("s3://b/t")
    with pytest.raises(TableNotFound):
        explorer.open_table(tmp_path / "nowhere", storage_options={}).snapshot()
    rows = explorer.audit().to_pylist()
    assert [row["table"] for row in rows if row["error"] is None] == [f"file://{tmp_path}/lake/orders"]
    assert [row["error"] for row in rows if row["error"]] == ["RequestError"]
    file.write_text("prot = 1\n", encoding="utf-8")
    with pytest.raises(InvalidConfiguration, match="line 1"):
        explorer.open_table(tmp_path / "lake" / "orders")
    monkeypatch.setenv("DELTA_EXPLORER_CONFIG", "off")
    explorer.open_table(tmp_path / "lake" / "orders")
    assert "DELTA_EXPLORER_ANALYSIS_SECONDS" not in os.environ
    with pytest.raises(RequestError, match="nothing to audit"):
        explorer.audit()


def test_exact_cells_of_csv_are_a_setting_that_a_flag_takes_back(tmp_path: Path) -> None:
    with in_force._using(_file(tmp_path, "exact_csv = true\n"), {}):
        assert check_output_options(tmp_path / "a.csv", exact_csv=None)
        assert check_output_options(tmp_path / "a.parquet", exact_csv=None), "it concerns no other format"
        assert not check_output_options(tmp_path / "a.csv", exact_csv=False)
    assert not check_output_options(tmp_path / "a.csv", exact_csv=None)


def test_a_name_that_is_wrong_is_one_line_of_an_audit_and_the_others_are_audited(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(open_store(tmp_path / "lake" / "orders"), {0: (PROTOCOL, METADATA, add("a"))})
    file = _file(tmp_path, SERVERS)
    assert run(["audit", "s3://lake/shop/x", str(tmp_path / "lake"), "dbfs:/x", "--json", "--config", str(file)]) == 2
    shown = capfd.readouterr()
    assert json.loads(shown.out)["table"] == f"file://{tmp_path}/lake/orders"
    assert [json.loads(line)["error"] for line in shown.err.splitlines()] == ["RequestError", "RequestError"]
