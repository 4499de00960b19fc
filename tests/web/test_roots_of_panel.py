"""What ``panel serve`` serves: its arguments, a variable that separates roots as PATH does, or the configuration."""

from pathlib import Path

import pytest

from explorer.configuration.records import Serve
from explorer.core.errors import NotAllowed, RequestError
from explorer.web.main import check_settings, roots_from, unused_settings


@pytest.mark.parametrize(
    ("variable", "roots"),
    [
        ("a:/b/c", ("a", "/b/c")),
        ("s3://lake/sales", ("s3://lake/sales",)),
        ("/a:s3://lake:gs://b/c:", ("/a", "s3://lake", "gs://b/c")),
    ],
)
def test_a_url_among_the_roots_of_the_variable_stays_whole(variable: str, roots: tuple[str, ...]) -> None:
    assert tuple(root.place for root in roots_from([], variable)) == roots


def test_without_any_root_it_says_where_to_give_them() -> None:
    with pytest.raises(RequestError, match="DELTA_EXPLORER_ROOTS"):
        roots_from([], "::")


def test_without_arguments_the_roots_of_the_configuration_are_served_with_their_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "explorer.toml"
    file.write_text(
        '[[roots]]\nplace = "s3://lake"\nname = "ours"\nstorage_options = {region = "eu"}\n'
        '[storage_options]\nregion = "other"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("DELTA_EXPLORER_CONFIG", str(file))
    (root,) = roots_from([], "")
    assert (root.place, root.name, root.storage_options) == ("s3://lake", "ours", {"region": "eu"})
    named = roots_from(["s3://lake/deep", "gs://b"], "")
    assert [root.storage_options["region"] for root in named] == ["eu", "other"]


@pytest.mark.parametrize("values", [Serve(basic_auth="users.json"), Serve(allow_commits=True)])
def test_a_configuration_that_asks_who_people_are_is_not_served_to_everybody(values: Serve) -> None:
    with pytest.raises(NotAllowed, match="delta-explorer serve"):
        check_settings(values)


def test_keys_for_which_panel_has_options_are_named() -> None:
    values = Serve(port=1, address="::1", public_url=("https://a/",), most_tables=3, spark_start=True)
    check_settings(values)
    assert unused_settings(values) == ["serve.port", "serve.address", "serve.public_url"]
    assert unused_settings(Serve()) == []
