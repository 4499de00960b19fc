"""The widget's scripts with a model of the test: when they ask, and what they tell of the page's width."""

from __future__ import annotations

from typing import Any, Final

import pytest
from explorer.jupyter.browser.scripts import script

pytestmark = pytest.mark.e2e

_MODEL: Final = """
window.model = (state) => {
  const heard = {};
  const made = {
    state, sent: [], saved: [],
    get: (name) => state[name],
    set: (name, value) => ((state[name] = value), (heard[`change:${name}`] ?? []).forEach((hear) => hear())),
    on: (name, hear) => (heard[name] ??= []).push(hear),
    off: (name, hear) => (heard[name] = (heard[name] ?? []).filter((other) => other !== hear)),
    send: (content) => made.sent.push(content.kind),
    save_changes: () => made.saved.push(state.width),
  };
  return made;
};
window.kit = (source) => import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
"""


def test_a_figure_asks_once_it_is_told_that_the_kernel_listens(watched: Any) -> None:
    watched.set_content(f"<!doctype html><script>{_MODEL}</script>")
    asked = watched.evaluate(
        """async (source) => {
          const { figure } = await kit(source);
          const rest = () => new Promise((resolve) => setTimeout(resolve, 50));
          const made = model({ listens: false });
          figure(made);
          await rest();
          const before = [...made.sent];
          made.set("listens", true);
          await rest();
          const old = model({ listens: true });
          figure(old);
          await rest();
          return [before, made.sent, old.sent];
        }""",
        script("figure.js"),
    )
    assert asked == [[], ["plotly"], ["plotly"]]


def test_the_narrowest_place_of_a_widget_is_told_and_a_scroll_bar_is_not(watched: Any) -> None:
    root = '<div class="dte" id="{0}" style="width: {1}px; padding: 14px"><div></div></div>'
    places = root.format("wide", 900) + root.format("narrow", 800)
    watched.set_content(f"<!doctype html><body data-jp-theme-light='true'><script>{_MODEL}</script>{places}")
    told = watched.evaluate(
        """async (source) => {
          const { page } = await kit(source);
          const rest = () => new Promise((resolve) => setTimeout(resolve, 400));
          const made = model({ theme: "light", width: 0 });
          const draw = page(made);
          const place = (name) => document.getElementById(name);
          const widen = async (name, width) => {
            place(name).style.width = `${width}px`;
            await rest();
            return made.state.width;
          };
          const [one, other] = ["wide", "narrow"].map((name) => draw(place(name).firstChild));
          await rest();
          const widths = [made.state.width];
          widths.push(await widen("narrow", 815), await widen("narrow", 790), await widen("narrow", 850));
          widths.push(await widen("wide", 360));
          place("wide").style.display = "none";
          await rest();
          widths.push(made.state.width);
          one();
          other();
          return [widths, made.saved];
        }""",
        script("host_page.js"),
    )
    assert told == [[800, 800, 790, 850, 360, 850], [900, 800, 790, 850, 360, 850]]
