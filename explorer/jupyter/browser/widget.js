// A view of the widget as the host of a page: its own style scope, its address, and the messages of the widget's comm.

const WATCHED = ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"];
const PLOTLY = Symbol.for("delta-table-explorer.plotly");

// --- plotly comes from the kernel, once for a page, and stays out of the page's own names

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Blob([await new Response(stream).text()], { type: "text/javascript" });
}

async function given(packed) {
  const address = URL.createObjectURL(await unpacked(packed));
  const before = Object.getOwnPropertyDescriptor(globalThis, "Plotly");
  try {
    await import(address);
    return globalThis.Plotly;
  } finally {
    URL.revokeObjectURL(address);
    delete globalThis.Plotly;
    if (before) Object.defineProperty(globalThis, "Plotly", before);
  }
}

function plotly(host) {
  return (globalThis[PLOTLY] ??= new Promise((resolve) => {
    const hear = (message, buffers) => {
      if (message?.kind !== "plotly") return;
      host.model.off("msg:custom", hear);
      resolve(given(buffers[0]));
    };
    host.model.on("msg:custom", hear);
    host.send({ kind: "plotly" });
  }).catch((error) => {
    delete globalThis[PLOTLY]; // another view may ask again
    throw error;
  }));
}

// Plotly lays its layers over each other by rules in the document's head, which do not reach into a shadow root.
let figureRules;

function figureSheet() {
  if (!figureRules) {
    const rules = document.getElementById("plotly.js-style-global")?.sheet?.cssRules ?? [];
    figureRules = new CSSStyleSheet();
    figureRules.replaceSync(Array.from(rules, ({ cssText }) => cssText).join(""));
  }
  return figureRules;
}

// --- the theme of the program around it

// A color of any notation as red, green, blue, and opacity, each up to 255.
function painted(color) {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  return canvas.getImageData(0, 0, 1, 1).data;
}

function ground(element) {
  for (let node = element; node; node = node.parentElement ?? node.getRootNode().host) {
    const color = painted(getComputedStyle(node).backgroundColor);
    if (color[3] > 127) return color;
  }
  return [255, 255, 255];
}

// JupyterLab and VS Code name the theme on the body; in other hosts the background color behind the widget decides.
function themeAround(element) {
  const { dataset } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false" ? "dark" : "light";
  if (dataset.vscodeThemeKind) return dataset.vscodeThemeKind.endsWith("light") ? "light" : "dark";
  const [red, green, blue] = ground(element.parentElement);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
}

class View {
  constructor(model, el, sheet, words) {
    this.model = model;
    this.el = el;
    this.words = words;
    this.name = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join("");
    el.classList.add("dte-view");
    this.root = el.attachShadow({ mode: "open" });
    this.root.adoptedStyleSheets = [sheet];
    this.element = document.createElement("div");
    this.element.className = "explorer";
    this.root.append(this.element);
    this.ends = new AbortController();
    this.address = "?";
    this.model.on("msg:custom", this.take);
    this.model.on("change:theme", this.paint);
    this.followKernel();
    this.observer = new MutationObserver(this.paint);
    for (const node of [document.body, document.documentElement]) {
      this.observer.observe(node, { attributes: true, attributeFilter: WATCHED });
    }
    this.keepKeys();
    // A page that is left does not take its views away. The browser may bring it back as it was.
    const { signal } = this.ends;
    window.addEventListener("pagehide", () => this.send({ kind: "end" }), { signal });
    window.addEventListener("pageshow", ({ persisted }) => persisted && this.ask(), { signal });
  }

  // The element joins the page only after it was given to it: its size and its ground are known then.
  begin() {
    if (this.ends.signal.aborted) return;
    if (!this.el.isConnected || !this.el.clientWidth) {
      this.frame = requestAnimationFrame(() => this.begin());
      return;
    }
    this.element.dataset.theme = this.theme();
    this.wait(this.words.awaited);
    this.late = setTimeout(() => this.wait(this.words.late), this.words.SOON);
    this.ask();
  }

  ask() {
    this.send({ kind: "begin", theme: this.theme(), person: this.recall("person"), ...this.size() });
  }

  wait(text) {
    const words = document.createElement("p");
    words.className = "awaited";
    words.setAttribute("role", "status");
    words.textContent = text;
    this.element.replaceChildren(words);
  }

  take = (message) => {
    if (message?.view !== this.name) return;
    if (message.kind === "window") this.open(message);
    else if (message.kind === "failed") this.fail(message);
    else this.page && this.receive(message);
  };

  open({ html, figures, query, mark, theme }) {
    clearTimeout(this.late);
    this.page?.close();
    this.address = query;
    this.element.innerHTML = html;
    explorerStyled(this.element);
    Object.assign(this.element.dataset, { shownTheme: theme, theme: this.theme(), mark });
    this.page = new Page(this, figures);
    this.page.connect();
    this.el.explorerPage = this.page;
  }

  fail({ text }) {
    clearTimeout(this.late);
    this.wait(text);
  }

  close() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.late);
    this.send({ kind: "end" });
    this.ends.abort();
    this.observer.disconnect();
    this.model.off("msg:custom", this.take);
    this.model.off("change:theme", this.paint);
    this.sign?.off("comm_live_update", this.heed);
    this.page?.close();
  }

  // --- what a page asks of its host

  // A kernel that was restarted or has died takes no message: its widgets are dead until their cells run again.
  send(message) {
    try {
      if (!this.isDead) this.model.send({ ...message, view: this.name });
    } catch {
      this.isDead = true;
    }
    if (this.isDead) this.page?.silent("lost");
  }

  // The model that a view is given does not say whether its kernel lives; that of its layout does, and they end together.
  followKernel() {
    const layout = this.model.get("layout");
    if (typeof layout?.comm_live !== "boolean") return;
    this.sign = layout;
    this.sign.on("comm_live_update", this.heed);
  }

  heed = () => {
    this.isDead = this.sign.comm_live === false;
    if (!this.isDead) return;
    if (this.page) this.page.silent("lost");
    else this.wait(this.words.lost);
  };

  hear(receive) {
    this.receive = receive;
  }

  query() {
    return this.address;
  }

  push(query) {
    this.address = query;
  }

  // An address of the kernel comes with what it shows; there is no other way to one.
  moved() {}

  leaves() {}

  link(query) {
    const values = new URLSearchParams(query);
    const named = { version: values.get("v"), compare_version: values.get("c"), tab: values.get("tab") };
    const given = Object.entries(named).filter(([, value]) => value !== null);
    return `table.explore(${given.map(([name, value]) => `${name}=${/^\d+$/.test(value) ? value : JSON.stringify(value)}`).join(", ")})`;
  }

  keep(name, value) {
    if (name === "person") this.remember("person", decodeURIComponent(value));
    if (name !== "theme") return;
    this.model.set("theme", value);
    this.model.save_changes();
  }

  remember(name, text) {
    const texts = View.texts(this.model);
    if (text === null) texts.delete(name);
    else texts.set(name, text);
  }

  recall(name) {
    return View.texts(this.model).get(name) ?? "";
  }

  note(name, text) {
    this.remember(name, text);
  }

  noted(name) {
    return this.recall(name);
  }

  static texts(model) {
    const all = (globalThis[Symbol.for("delta-table-explorer.texts")] ??= new WeakMap());
    if (!all.has(model)) all.set(model, new Map());
    return all.get(model);
  }

  async plotly() {
    const figures = await plotly(this);
    const { root } = this;
    if (!root.adoptedStyleSheets.includes(figureSheet())) root.adoptedStyleSheets.unshift(figureSheet());
    return figures;
  }

  size() {
    return { width: Math.floor(this.el.clientWidth), height: window.innerHeight };
  }

  title() {}

  reload() {
    this.ask();
  }

  // --- the program around it

  theme() {
    const wanted = this.model.get("theme");
    return wanted === "auto" ? themeAround(this.el) : wanted;
  }

  paint = () => {
    const theme = this.theme();
    if (this.element.dataset.theme === theme) return;
    this.element.dataset.theme = theme;
    this.page?.ask("theme", { theme });
  };

  // Between cells JupyterLab and Notebook take plain keys for their commands before a focused control hears them: an
  // arrow moves to another cell instead of to another version. Keys with Ctrl, Alt or Meta stay theirs. JupyterLab uses
  // Shift+click on an output to select cells.
  keepKeys() {
    const { signal } = this.ends;
    this.el.setAttribute("data-lm-suppress-shortcuts", "");
    const keep = ({ ctrlKey, altKey, metaKey, target }) => {
      if (target === this.el) this.el.toggleAttribute("data-lm-suppress-shortcuts", !(ctrlKey || altKey || metaKey));
    };
    window.addEventListener("keydown", keep, { capture: true, signal });
    this.el.addEventListener("mousedown", (event) => event.shiftKey && event.stopPropagation(), { signal });
    this.el.addEventListener("keydown", (event) => event.stopPropagation(), { signal });
  }
}

export function widget(model, el, sheet, words) {
  const view = new View(model, el, sheet, words);
  view.begin();
  return () => view.close();
}
