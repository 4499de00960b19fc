"""The bars of masked files: each is the whole of a file, live below and hidden on top."""

from typing import Any

import pyarrow as pa
import pytest

from explorer.views.figures.charts import masked_shares
from explorer.views.figures.theme import LIGHT


def test_each_bar_is_a_whole_file_with_what_is_hidden_on_top() -> None:
    vectors = pa.table({"path": ["a", "<b>"], "cardinality": [3, 1], "num_records": [10, 4], "share": [0.3, 0.25]})
    figure: Any = masked_shares(vectors, LIGHT, chosen="<b>")
    live, hidden = figure["data"]
    assert list(live["y"]) == pytest.approx([70, 75])
    assert list(hidden["y"]) == pytest.approx([30, 25])
    assert figure["layout"]["barmode"] == "stack"
    assert "pattern" in hidden["marker"]
    assert "pattern" not in live["marker"]
    assert "3 rows of 10 hidden, 30.0 %" in hidden["hovertext"][0]
    assert "<b>" not in "".join(hidden["hovertext"]).replace("<br>", "")
    (band,) = figure["layout"]["shapes"]
    assert (band["x0"], band["x1"]) == (0.5, 1.5)
