"""A chart in a kernel or on a server waits for nothing that it does not need."""

import subprocess
import sys

import pytest

SHOWN = """
import json, sys
import explorer.views.figures.figure_widget as ours
brought = sorted({name.partition(".")[0] for name in sys.modules} & {"nbformat", "jsonschema"})
import nbformat.v4
import plotly.graph_objects as go
import plotly.io as pio
pio.renderers.default = "plotly_mimetype"
go.Figure({"data": [{"type": "bar", "y": [1]}]}).show()
from plotly.io import _renderers
assert nbformat.v4.new_notebook()["nbformat"] == 4
same = ours.FigureWidget is go.FigureWidget, _renderers.nbformat.__version__ == nbformat.__version__
print(json.dumps([brought, *same]))
"""


def test_a_figure_brings_no_notebook_format_and_people_s_own_figures_are_shown_as_before() -> None:
    pytest.importorskip("nbformat", reason="it comes with JupyterLab")
    answer = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1] == "[[], true, true]"
