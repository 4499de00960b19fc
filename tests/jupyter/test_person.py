"""The person at a notebook is the one whom JupyterHub names, if there is one."""

import pytest

from explorer.jupyter.person import notebook_identity
from explorer.page.host import Identity, KnownBy


def test_the_user_of_a_hub_is_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "ana")
    assert notebook_identity() == Identity(name="ana", known_by=KnownBy.NOTEBOOK, may_sign=False)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_without_a_usable_name_nobody_is_known(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", name)
    assert notebook_identity() == Identity(may_sign=False)
