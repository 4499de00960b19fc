"""The roots of ``panel serve``: its arguments, or a variable that separates them as PATH does."""

import pytest

from explorer.core.errors import RequestError
from explorer.web.main import roots_from


@pytest.mark.parametrize(
    ("variable", "roots"),
    [
        ("a:/b/c", ("a", "/b/c")),
        ("s3://lake/sales", ("s3://lake/sales",)),
        ("/a:s3://lake:gs://b/c:", ("/a", "s3://lake", "gs://b/c")),
    ],
)
def test_a_url_among_the_roots_of_the_variable_stays_whole(variable: str, roots: tuple[str, ...]) -> None:
    assert roots_from([], variable) == roots


def test_without_any_root_it_says_where_to_give_them() -> None:
    with pytest.raises(RequestError, match="DELTA_EXPLORER_ROOTS"):
        roots_from([], "::")
