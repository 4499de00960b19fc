"""The widget says of a plan that the same change was carried out before, by whom and as which version."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from explorer.views.act.desk.state import Ended
from tests.jupyter.conftest import shown
from tests.jupyter.test_act import act, planned, until
from tests.support.page_elements import Elements, assert_harmless

PERSON = "<b>ana</b>"


def test_a_plan_of_a_change_that_was_carried_out_says_so(tmp_path: Path) -> None:
    location = str(tmp_path / "sales")
    write_deltalake(location, pa.table({"id": pa.array([1], pa.int64())}))
    widget, panel = act(location, allow_commits=True)
    panel.person.value = PERSON
    for version, text in enumerate(("first", "second"), 1):
        planned(panel, "set-description", description=text)
        assert "The same change" not in Elements(shown(widget)).text
        panel.name.value, panel.reason.value = "sales", "So that there are two."
        panel.commit.click()
        until(panel, lambda: isinstance(panel.desk.state, Ended))
        assert DeltaTable(location).version() == version
        panel.show_version.click()
        widget.tab = "act"
        panel.back.click()
    planned(panel, "set-description", description="first")
    said = Elements(shown(widget)).text
    assert f"The same change was carried out by {PERSON} as v1, begun" in said
    assert "This plan would do it once more." in said
    assert_harmless(shown(widget))
    # What the table says now is another description: the change may be made again.
    panel.name.value, panel.reason.value = "sales", "Back to the first."
    panel.commit.click()
    until(panel, lambda: isinstance(panel.desk.state, Ended))
    assert DeltaTable(location).metadata().description == "first"
