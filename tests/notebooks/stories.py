"""The notebooks of this repository, executed in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import find_java
from tests.support.shared_tables import REPOSITORY

if TYPE_CHECKING:
    from nbclient import NotebookClient

# nbformat takes seconds to load: it is imported where it is called, so that who runs no notebook goes without.

__all__ = ["NOTEBOOKS", "Executed", "Kernel", "java_is_there", "names", "read", "running_kernel"]

NOTEBOOKS: Final = REPOSITORY / "notebooks"
SPARK: Final = "spark"
"""The tag of a cell that needs Spark, or a name that such a cell makes."""
_FORGET: Final = "get_ipython().extension_manager.loaded.clear()\n%reset -f"


class Executed:
    """An executed notebook: its cells, and the outputs of those with code by the cell's id."""

    def __init__(self, story: Any) -> None:
        self.story = story
        self.cells = {cell["id"]: cell for cell in story.cells if cell.cell_type == "code"}

    def failures(self) -> dict[str, str]:
        """The cells that failed, with the error."""
        outputs = [(name, output) for name, cell in self.cells.items() for output in cell.get("outputs", ())]
        return {name: f"{o.ename}: {o.evalue}" for name, o in outputs if o.output_type == "error"}

    def noise(self) -> dict[str, str]:
        """What cells wrote to stderr."""
        outputs = [(name, output) for name, cell in self.cells.items() for output in cell.get("outputs", ())]
        return {name: o.text for name, o in outputs if o.output_type == "stream" and o.name == "stderr"}

    def said(self, name: str) -> str:
        """What a cell printed."""
        outputs = self.cells[name].outputs
        return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")

    def result(self, name: str) -> dict[str, Any]:
        """The value of a cell's last expression, by media type."""
        return dict(next(o.data for o in self.cells[name].outputs if o.output_type == "execute_result"))

    def shown(self, name: str) -> str:
        """The value of a cell's last expression as text."""
        return str(self.result(name)["text/plain"])


class Kernel:
    """Runs notebooks one after another; each finds no name that an earlier one made, but Spark if that runs already."""

    def __init__(self, client: NotebookClient, *, java: bool) -> None:
        self._client, self._java = client, java

    def run(self, name: str) -> Executed:
        """Execute a notebook; where there is no Java, without the cells that need it. Errors are among the outputs."""
        import nbformat

        story = read(name)
        self._execute(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(_FORGET)]))
        if not self._java:
            story.cells = [cell for cell in story.cells if SPARK not in cell.metadata.get("tags", [])]
        self._execute(story)
        return Executed(story)

    def _execute(self, story: Any) -> None:
        self._client.nb = story
        self._client.reset_execution_trackers()
        for place, cell in enumerate(story.cells):
            self._client.execute_cell(cell, place)


@contextmanager
def running_kernel(folder: Path) -> Iterator[Kernel]:
    """Start a kernel in a folder."""
    import nbformat
    from nbclient import NotebookClient

    client = NotebookClient(nbformat.v4.new_notebook(), timeout=300, allow_errors=True, store_widget_state=False)
    with client.setup_kernel(cwd=str(folder)):
        yield Kernel(client, java=java_is_there())


def names() -> list[str]:
    """The notebooks, in order."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def read(name: str) -> Any:
    """Return a notebook as it is in the repository."""
    import nbformat

    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def java_is_there() -> bool:
    """Whether Spark could start."""
    try:
        find_java()
    except EngineUnavailable:
        return False
    return True
