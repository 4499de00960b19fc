"""The style sheet of the widget: the design tokens of the views, with the background and font of the host page."""

from __future__ import annotations

from explorer.views.figures.theme import DARK, LIGHT, MONO_FAMILY, css_variables

__all__ = ["ROOT", "style_sheet"]

ROOT = "dte"
"""The class of the widget's root; ``dte-auto`` beside it takes the host's background, ``dte-dark`` the dark colours."""

_RULES = """
.dte:not(.dte-auto) { --jp-widgets-color: var(--ink); --jp-widgets-label-color: var(--ink);
  --jp-widgets-readout-color: var(--ink); --jp-widgets-input-color: var(--ink);
  --jp-widgets-input-background-color: var(--surface); --jp-widgets-input-border-color: var(--faint);
  --jp-widgets-input-focus-border-color: var(--accent); --jp-widgets-slider-handle-background-color: var(--surface);
  --jp-widgets-slider-handle-border-color: var(--faint); --jp-widgets-slider-active-handle-color: var(--accent);
  --jp-layout-color0: var(--surface); --jp-layout-color1: var(--surface); --jp-layout-color2: var(--lane);
  --jp-layout-color3: var(--line); --jp-ui-font-color0: var(--ink); --jp-ui-font-color1: var(--ink);
  --jp-ui-font-color2: var(--muted); --jp-ui-font-color3: var(--muted); --jp-content-font-color1: var(--ink);
  --jp-border-color0: var(--faint); --jp-border-color1: var(--faint); --jp-border-color2: var(--line);
  --jp-border-color3: var(--line); --jp-brand-color0: var(--accent); --jp-brand-color1: var(--accent);
  --jp-brand-color2: var(--accent); --jp-brand-color3: var(--accent-ground);
  --jp-ui-inverse-font-color1: var(--on-accent); color-scheme: light; }
.dte.dte-dark:not(.dte-auto) { color-scheme: dark; }
.dte:not(.dte-auto) input, .dte:not(.dte-auto) select { color: var(--ink); background: var(--surface); }
/* The arrow of ipywidgets is black in every theme. */
.dte { --jp-widgets-dropdown-arrow: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' \
viewBox='0 0 18 18'%3E%3Cpath d='M5 7.5 9 11.5 13 7.5' fill='none' stroke='%237d8590' \
stroke-width='1.6'/%3E%3C/svg%3E"); }
.dte .widget-toggle-button.mod-active { background: var(--accent-ground); color: var(--accent); box-shadow: none; }
.dte:not(.dte-auto) input::placeholder { color: var(--muted); }
.dte { background: var(--surface); color: var(--ink); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; font: 13px/1.45 var(--jp-ui-font-family, Roboto, system-ui, sans-serif); overflow: hidden; }
.dte.dte-auto { background: var(--jp-layout-color1, var(--surface)); }
.dte .widget-html, .dte .widget-html-content { line-height: 1.45; height: auto; color: var(--ink); }
.dte .widget-hslider, .dte .widget-text { color: var(--ink); }
.dte .dte-head { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
.dte .dte-version { font-size: 20px; font-weight: 650; }
.dte .dte-muted { color: var(--muted); }
.dte .dte-caption { color: var(--muted); font-size: 11.5px; }
.dte .dte-mono { font-family: MONO; font-size: 12px; }
.dte p { margin: 3px 0; }
.dte .dte-signs { display: flex; flex-wrap: wrap; gap: 0 16px; color: var(--muted); font-size: 11.5px; }
.dte .dte-figures { display: flex; flex-wrap: wrap; gap: 6px 32px; margin: 6px 0; }
.dte .dte-figure b { display: block; font-size: 19px; font-weight: 650; }
.dte .dte-figure b.dte-zero { font-size: 13px; line-height: 27px; font-weight: 400; color: var(--muted); }
.dte .dte-added { color: var(--added); }
.dte .dte-removed { color: var(--removed-ink); }
.dte .dte-remasked { color: var(--remasked); }
.dte .dte-tabs { width: 100%; margin: 10px 0 6px; border-bottom: 1px solid var(--line); }
.dte .dte-tabs .widget-toggle-buttons, .dte .dte-tabs.widget-toggle-buttons { margin-bottom: 0; }
.dte .dte-tabs .widget-toggle-button, .dte .dte-tabs .widget-toggle-button:hover { background: none; box-shadow: none;
  color: var(--muted); border: 0; border-bottom: 2px solid transparent; margin: 0 0 -1px; padding: 0 11px; }
.dte .dte-tabs .widget-toggle-button:hover { color: var(--ink); }
.dte .dte-tabs .widget-toggle-button.mod-active { background: none; color: var(--accent); font-weight: 600;
  border-bottom-color: var(--accent); }
.dte .dte-tabs .widget-toggle-button:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.dte .dte-still-u { fill: var(--idle); } .dte .dte-still-a { fill: var(--added); }
.dte .dte-still-r { fill: var(--removed); } .dte .dte-still-m { fill: var(--remasked); }
.dte.jupyter-widgets-disconnected::before { display: block; margin: 0 0 8px; padding: 6px 10px; border-radius: 6px;
  content: "No kernel answers: this is what was shown. Run the cell to use it."; background: var(--warning-ground);
  color: var(--warning); font: inherit; }
.dte .dte-cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(230px, 1fr)); gap: 10px;
  align-items: start; margin: 4px 0; }
.dte .dte-card { border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; min-width: 0;
  overflow-wrap: break-word; }
.dte .dte-card h4 { margin: 0 0 4px; font-size: 12.5px; font-weight: 600; color: var(--ink); }
.dte .dte-card p { margin: 0; padding-left: 14px; text-indent: -14px; }
.dte .dte-findings { font-size: 12.5px; margin: 2px 0; }
.dte .dte-findings summary { cursor: pointer; }
.dte .dte-findings ul { margin: 4px 0; padding-left: 18px; }
.dte .dte-findings li { overflow-wrap: anywhere; }
.dte .dte-chip { display: inline-block; padding: 1px 9px; border: 1px solid var(--line); border-radius: 11px;
  font-size: 11.5px; color: var(--muted); }
.dte .dte-chip.dte-warning { border-color: transparent; background: var(--warning-ground); color: var(--warning); }
.dte .dte-chip.dte-error { border-color: transparent; background: var(--danger-ground); color: var(--danger); }
.dte .dte-list { overflow-x: auto; }
.dte table { width: 100%; border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
.dte th { text-align: left; font-weight: 500; font-size: 11.5px; color: var(--muted); padding: 3px 8px;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
.dte td { padding: 0 8px; height: 27px; border-bottom: 1px solid var(--line); white-space: nowrap; }
.dte th { position: sticky; top: 0; background: var(--surface); }
.dte.dte-auto th { background: var(--jp-layout-color1, var(--surface)); }
.dte td { max-width: 340px; overflow: hidden; text-overflow: ellipsis; }
.dte td.dte-path { width: 50%; min-width: 220px; max-width: 0; }
.dte .dte-mid { display: flex; min-width: 0; }
.dte .dte-mid span:first-child { overflow: hidden; text-overflow: ellipsis; }
.dte .dte-mid span:last-child { flex: none; }
.dte .dte-tick { width: 20px; padding-right: 0; }
.dte .dte-tick input { margin: 0; accent-color: var(--accent); vertical-align: middle; }
.dte .dte-number { text-align: right; }
.dte .dte-none { color: var(--muted); font-style: italic; }
.dte s { color: var(--removed-ink); text-decoration-thickness: 1px; }
.dte .dte-changed { background: color-mix(in srgb, var(--ink) 8%, transparent); }
.dte .dte-progress { color: var(--muted); padding: 10px 0; }
.dte progress { width: 260px; height: 6px; vertical-align: middle; accent-color: var(--accent); margin-right: 8px; }
.dte .dte-feed { display: flex; gap: 1px; height: 12px; margin: 6px 0; border-radius: 3px; overflow: hidden; }
.dte .dte-feed i { flex: 1 1 0; min-width: 2px; }
.dte .dte-feed i, .dte .dte-spans i { background: var(--lane); }
.dte .dte-spans span { display: inline-flex; gap: 6px; align-items: center; }
.dte .dte-spans i { width: 12px; height: 9px; border-radius: 2px; flex: none; }
.dte i.dte-from-recorded, .dte i.dte-from-files { background: var(--accent); }
.dte i.dte-from-inferred { background: repeating-linear-gradient(135deg, var(--accent) 0 2px, transparent 2px 5px)
  var(--accent-ground); }
.dte i.dte-hole { background: repeating-linear-gradient(135deg, var(--danger) 0 1.5px, transparent 1.5px 5px)
  var(--danger-ground); }
.dte .dte-problem { border: 1px solid currentColor; border-radius: 8px; padding: 10px 12px; margin: 4px 0;
  overflow-wrap: anywhere; }
.dte .dte-problem h4 { margin: 0 0 4px; font-size: 13px; }
.dte .dte-problem p, .dte .dte-problem dl { margin: 4px 0 0; color: var(--ink); }
.dte .dte-problem dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 12px; font-size: 12px; }
.dte .dte-problem dt, .dte .dte-problem dd { float: none; width: auto; margin: 0; padding: 0; font-weight: 400; }
.dte .dte-problem dt { overflow-wrap: normal; }
.dte .dte-danger { color: var(--danger); background: var(--danger-ground); }
.dte .dte-warning { color: var(--warning); background: var(--warning-ground); }
.dte .dte-ok { color: var(--ok); }
.dte .dte-problem.dte-ok { background: var(--ok-ground); }
.dte .dte-warn { color: var(--warning); }
.dte .dte-wrong { color: var(--danger); }
.dte .dte-guards { list-style: none; margin: 4px 0; padding: 0; }
.dte .dte-guards li { padding: 3px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.dte .dte-guards p { margin: 1px 0 1px 18px; }
.dte pre { font-family: MONO; font-size: 12px; margin: 4px 0; padding: 8px 10px; background: var(--lane);
  border-radius: 6px; overflow: auto; max-height: 320px; color: var(--ink); }
.dte code { font-family: MONO; font-size: 11.5px; color: var(--muted); background: none; }
.dte details { margin: 4px 0; } .dte summary { cursor: pointer; }
.dte .dte-facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 14px; font-size: 12px; }
.dte .dte-facts dt, .dte .dte-facts dd { float: none; width: auto; margin: 0; padding: 0; font-weight: 400; }
.dte .dte-facts dd { overflow-wrap: anywhere; }
.dte .dte-info { color: var(--accent); background: var(--accent-ground); }
"""


def style_sheet() -> str:
    """Return the rules; no part of them comes from a table.

    JupyterLab names its theme in the page before any script of ours runs, so the first drawing already has it.
    """
    return (
        f".dte{{{css_variables(LIGHT)}}}"
        f'.dte.dte-dark,body[data-jp-theme-light="false"] .dte.dte-auto{{{css_variables(DARK)}}}'
        + _RULES.replace("MONO", MONO_FAMILY)
    )
