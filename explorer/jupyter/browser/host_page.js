// What the widget needs from its page: whether the page is dark, how wide the widget is, that the timeline gets the
// mouse and the controls get the keys, and which rows of its lists are ticked.

const WATCHED = ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"];

function ground(element) {
  for (let node = element; node; node = node.parentElement) {
    const parts = getComputedStyle(node).backgroundColor.match(/[\d.]+/g)?.map(Number);
    if (parts && parts.length >= 3 && (parts.length === 3 || parts[3] > 0)) return parts;
  }
  return [255, 255, 255];
}

// JupyterLab and VS Code name the theme on the body; elsewhere the background colour behind the widget decides.
function theme(root) {
  const { dataset } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false" ? "dark" : "light";
  if (dataset.vscodeThemeKind) return dataset.vscodeThemeKind.endsWith("light") ? "light" : "dark";
  const [red, green, blue] = ground(root.parentElement);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
}

function followTheme(root, model) {
  const tell = () => {
    if (model.get("theme") === theme(root)) return;
    model.set("theme", theme(root));
    model.save_changes();
  };
  const observer = new MutationObserver(tell);
  for (const node of [document.body, document.documentElement]) {
    observer.observe(node, { attributes: true, attributeFilter: WATCHED });
  }
  tell();
  return () => observer.disconnect();
}

// plotly fits a figure to its place when the window is resized, but not when its place appears or a sidebar folds.
function followWidth(root, model, widths) {
  const fit = () => window.dispatchEvent(new Event("resize"));
  let width = 0;
  let waiting;
  const observer = new ResizeObserver(([{ contentRect }]) => {
    if (root.clientWidth !== width) fit();
    width = root.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => tellWidth(root, model, widths, Math.floor(contentRect.width)), model.get("width") ? 150 : 0);
  });
  const drawn = (event) => root.contains(event.detail?.element) && fit();
  observer.observe(root);
  document.addEventListener("plotlywidget-after-render", drawn);
  return () => {
    clearTimeout(waiting);
    widths.delete(root);
    observer.disconnect();
    document.removeEventListener("plotlywidget-after-render", drawn);
  };
}

// The strip is drawn for a width. It is drawn again where it is shown narrower, as its labels would touch, and where it
// is much wider; not for a scroll bar, which comes and goes with the height. Of several places the narrowest counts.
const SLACK = 24;

function tellWidth(root, model, widths, width) {
  if (width > 0) widths.set(root, width);
  else widths.delete(root);
  const [known, least] = [model.get("width"), Math.min(...widths.values())];
  if (!widths.size || (known <= least && least <= known + SLACK)) return;
  model.set("width", least);
  model.save_changes();
}

// JupyterLab uses Shift+click on an output to select cells, and hides the release of the button from the figure.
function keepMouse(root) {
  const keep = (event) => event.shiftKey && event.target.closest?.(".js-plotly-plot") && event.stopPropagation();
  root.addEventListener("mousedown", keep);
  return () => root.removeEventListener("mousedown", keep);
}

// Between cells JupyterLab and Notebook take plain keys for their commands before a focused control hears them: an arrow
// moves to another cell instead of moving a slider. Keys with Ctrl, Alt or Meta stay theirs.
function keepKeys(root) {
  const keep = ({ target, ctrlKey, altKey, metaKey }) => {
    if (root.contains(target)) target.toggleAttribute("data-lm-suppress-shortcuts", !(ctrlKey || altKey || metaKey));
  };
  window.addEventListener("keydown", keep, true);
  return () => window.removeEventListener("keydown", keep, true);
}

// A box in front of a row tells the kernel, which draws the page of the list again.
function hearTicks(root, model) {
  const tell = ({ target }) => {
    const { row } = target.dataset;
    const { list } = target.closest("table")?.dataset ?? {};
    if (list === undefined || row === undefined) return;
    model.send({ list, row: Number(row), selected: target.checked });
  };
  root.addEventListener("change", tell);
  return () => root.removeEventListener("change", tell);
}

const PARTS = [followTheme, followWidth, keepMouse, keepKeys, hearTicks];

export const page = (model) => {
  const widths = new Map();
  return (el) => {
    let undo = [];
    let waiting = 0;
    const start = () => {
      const root = el.closest(".dte");
      // The element joins the page only after render has returned.
      if (root && el.isConnected) undo = PARTS.map((part) => part(root, model, widths));
      else waiting = requestAnimationFrame(start);
    };
    start();
    return () => {
      cancelAnimationFrame(waiting);
      for (const step of undo) step();
    };
  };
};
