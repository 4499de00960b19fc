// Tells Python whether the page is dark, now and whenever that changes.
// JupyterLab and VS Code say so on the body; elsewhere the colour of the ground behind the widget decides.

const WATCHED = ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"];

function ground(element) {
  for (let node = element; node; node = node.parentElement) {
    const parts = getComputedStyle(node).backgroundColor.match(/[\d.]+/g)?.map(Number);
    if (parts && parts.length >= 3 && (parts.length === 3 || parts[3] > 0)) return parts;
  }
  return [255, 255, 255];
}

function theme(element) {
  const { dataset } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false" ? "dark" : "light";
  if (dataset.vscodeThemeKind) return dataset.vscodeThemeKind.endsWith("light") ? "light" : "dark";
  const [red, green, blue] = ground(element.closest(".dte")?.parentElement ?? document.body);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
}

function render({ model, el }) {
  const tell = () => {
    if (!el.isConnected || model.get("name") === theme(el)) return;
    model.set("name", theme(el));
    model.save_changes();
  };
  const observer = new MutationObserver(tell);
  for (const node of [document.body, document.documentElement]) {
    observer.observe(node, { attributes: true, attributeFilter: WATCHED });
  }
  // The element joins the page after render returns.
  const waiting = setTimeout(tell, 0);
  return () => {
    clearTimeout(waiting);
    observer.disconnect();
  };
}

export default { render };
