"""The person at a notebook, where the notebook's server names one.

A kernel runs with the rights of that person, who can also change its variables: the name is for the history of a table,
and proves nothing.
"""

from __future__ import annotations

import os
from typing import Final

from explorer.page.host import Identity, KnownBy

_VARIABLE: Final = "JUPYTERHUB_USER"
"""JupyterHub sets it for each server of a person. Without a hub, no kernel is told who works with it."""
_LONGEST: Final = 200


def notebook_identity() -> Identity:
    """Return the person at this notebook."""
    name = os.environ.get(_VARIABLE, "").strip()
    if not name or not name.isprintable() or len(name) > _LONGEST:
        return Identity(may_sign=False)
    return Identity(name=name, known_by=KnownBy.NOTEBOOK, may_sign=False)
