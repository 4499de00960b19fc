// The page's one script: it turns clicks and keys into addresses, sends them to the server, and puts what comes back
// in its place. All text arrives escaped by the server's templates; nothing here builds HTML from data.

const STEP_KEYS = { ArrowLeft: -1, ArrowRight: 1 };
const BUSY_AFTER = 300;      // ms without an answer until the bar at the top moves
const SILENT_AFTER = 20_000; // ms without an answer until the page says so
const FIGURES = ["chart-slot"];
const PAPER = 960;           // px that a figure may take on a printed page
const FIT_EVERY = 1_000;     // ms between two looks for a figure that was placed again

function pierce(node, selector) {
  const found = node.querySelector(selector);
  if (found) return found;
  for (const child of node.querySelectorAll("*")) {
    const inner = child.shadowRoot && pierce(child.shadowRoot, selector);
    if (inner) return inner;
  }
  return null;
}

// Values as the address of a page; a table's name keeps its slashes.
function queryOf(values) {
  return "?" + values.toString().replaceAll("%2F", "/");
}

class Page {
  constructor(model) {
    this.model = model;
    this.sent = 0;
    this.answered = 0;
    this.went = 0;
    this.parts = {};
    this.patience = SILENT_AFTER;
    this.root = document.documentElement;
    model.on("msg:custom", (message) => this.receive(message));
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("submit", (event) => this.submit(event));
    document.addEventListener("change", (event) => this.change(event));
    document.addEventListener("input", (event) => this.input(event));
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("focusin", (event) => this.wake(event));
    document.addEventListener("visibilitychange", () => this.tellVisible());
    // No person's question: a link from elsewhere to a part of this page comes this way too.
    window.addEventListener("popstate", () => this.ask("go", { query: location.search }));
    for (const kind of ["pointerdown", "keydown"]) {
      document.addEventListener(kind, () => { this.acted = true; }, { capture: true, once: true });
    }
    this.strip = window.explorerStrip;
    if (this.strip) Object.assign(this.strip, { page: this, queryOf });
    this.heights();
    window.setInterval(() => this.fitAll(), FIT_EVERY);
    window.Bokeh?.documents[0]?.on_event("connection_lost", () => this.silent("lost"));
    const look = () => this.keep("looked", Date.now());
    look();
    window.addEventListener("pagehide", look);
    this.restore(document, []);
    this.root.dataset.live = "yes";
    this.showChosenCommit();
    const { theme, shownTheme, mark } = this.root.dataset;
    const shown = { theme, shown: shownTheme, mark };
    this.ask("hello", { query: location.search, ...shown, ...this.screen() });
    if (document.hidden) this.tellVisible();
    this.keepCase();
  }

  // --- to the server

  ask(kind, fields = {}) {
    this.sent += 1;
    if (kind === "go") this.went = this.sent;
    this.model.send_msg({ kind, number: this.sent, ...fields });
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.root.classList.add("busy"), BUSY_AFTER);
    this.listen();
  }

  // An answer that does not come is a notice: the request may be lost, or take long.
  listen() {
    window.clearTimeout(this.listening);
    this.listening = window.setTimeout(() => this.silent("late"), this.patience);
  }

  silent(why) {
    // What the server itself has said stays.
    if (["refused", "ended"].includes(this.root.dataset.silence)) return;
    this.root.dataset.silence = why;
    this.root.classList.remove("busy");
  }

  retry() {
    delete this.root.dataset.silence;
    this.ask("go", { query: location.search, asked: true });
  }

  screen() {
    return { width: this.root.clientWidth, height: window.innerHeight };
  }

  // What sticks to the top covers what is scrolled to; the page keeps that much free.
  heights() {
    const ambient = document.getElementById("ambient");
    if (!ambient) return;
    const tell = () => {
      const stuck = getComputedStyle(ambient).position === "sticky" ? ambient.offsetHeight : 0;
      this.root.style.setProperty("--ambient", `${stuck}px`);
    };
    new ResizeObserver(tell).observe(ambient);
    window.addEventListener("resize", tell);
  }

  // Nothing answers this: a page that is left is hidden too, and its connection gone.
  tellVisible() {
    this.model.send_msg({ kind: "visible", visible: !document.hidden });
  }

  // A form that needs Spark was touched: it starts while the person types. Nothing answers this.
  wake(event) {
    if (this.woke || !this.acted || !event.target.closest?.("[data-wakes]")) return;
    this.woke = true;
    this.model.send_msg({ kind: "wake-spark" });
  }

  go(query, replace = false) {
    const current = location.search || "?";
    const [from, to] = [current, query].map((text) => new URLSearchParams(text));
    // Another tab is read from its beginning; another version keeps the person's place.
    if (["t", "tab"].some((key) => from.get(key) !== to.get(key))) this.upwards = true;
    if (query !== current) history[replace ? "replaceState" : "pushState"]({}, "", query);
    this.ask("go", { query, asked: true });
  }

  // --- from the server

  receive(message) {
    if (message.kind === "patch") this.patch(message);
    else if (message.kind === "file") this.collect(message);
    else if (message.kind === "reload") location.reload();
  }

  patch({ regions, hidden, title, number, query, say, strip }) {
    const held = document.activeElement?.id;
    const had = document.querySelector("[data-result]");
    for (const [id, html] of Object.entries(regions)) this.place(id, html);
    // A button that begins something and the one that stops it share an id, wherever they are.
    if (held && document.activeElement?.id !== held) document.getElementById(held)?.focus();
    for (const [id, off] of Object.entries(hidden)) {
      const element = document.getElementById(id);
      if (element) element.classList.toggle("off", off);
    }
    if (strip) this.strip.show(strip);
    if (this.upwards && "lead" in regions) {
      this.upwards = false;
      const main = document.getElementById("main");
      const covered = parseFloat(getComputedStyle(this.root).scrollPaddingTop) || 0;
      if (main.getBoundingClientRect().top < covered) main.scrollIntoView({ block: "start" });
    }
    const result = document.querySelector("[data-result]");
    if (result && !had) result.scrollIntoView({ block: "nearest" });
    if ("commits" in regions) this.showChosenCommit();
    if ("tabs" in regions) this.keepCase();
    this.speak();
    if (title) document.title = title;
    if (say) this.say(say);
    // An address for a page that the person has left since comes too late.
    if (query && number >= this.went && query !== location.search) history.replaceState({}, "", query);
    this.answered = Math.max(this.answered, number || 0);
    if (this.root.dataset.silence === "late") delete this.root.dataset.silence;
    if (this.answered >= this.sent) {
      window.clearTimeout(this.waiting);
      window.clearTimeout(this.listening);
      this.root.classList.remove("busy");
    } else this.listen();
    this.root.dataset.answered = String(this.answered);
  }

  // The list of commits scrolls to the chosen one by itself, and the page stays where it is.
  showChosenCommit() {
    const row = document.querySelector("#commits tr[aria-current]");
    const box = row?.closest(".tall");
    if (box) box.scrollTop = row.offsetTop - (box.clientHeight - row.offsetHeight) / 2;
  }

  // A screen reader reads the result of a plan or a commit once: it does not read parts that are drawn again.
  speak() {
    const text = document.querySelector("[data-spoken]")?.textContent.replace(/\s+/g, " ").trim() || "";
    if (text !== (this.spoken || "")) document.getElementById("spoken").textContent = text;
    this.spoken = text;
  }

  // A case outlives a reload of this window, and goes along to the pages of another table; it is in no address.
  keepCase() {
    const kept = document.getElementById("case-kept");
    if (!kept) return;
    const text = this.keptCase ? "" : sessionStorage.getItem("explorer case");
    this.keptCase = true;
    if (text && !kept.dataset.case) this.ask("case-load", { text, name: "The case of this window" });
    else sessionStorage.setItem("explorer case", kept.dataset.case);
  }

  place(id, html) {
    const element = document.getElementById(id);
    if (!element) return;
    const active = document.activeElement;
    const kept = active && element.contains(active) && active.id ? { id: active.id, value: active.value } : null;
    const pressed = active && element.contains(active) && !active.id ? this.likeness(active) : "";
    const typing = kept && (active.type === "search" || "keep" in active.dataset);
    const selection = typing ? [active.selectionStart, active.selectionEnd] : null;
    const fields = [...element.querySelectorAll("[data-keep]")].filter((field) => field.value !== field.defaultValue);
    const typed = fields.map((field) => [field.id, field.value, field.form?.id]);
    element.innerHTML = html;
    window.explorerStyled(element);
    this.restore(element, typed);
    if (pressed) element.querySelector(pressed)?.focus({ preventScroll: true });
    const again = kept && document.getElementById(kept.id);
    if (!again) return this.land(element, active);
    if (selection) {
      again.value = kept.value;
      again.focus({ preventScroll: true });
      again.setSelectionRange(...selection);
    } else again.focus({ preventScroll: true });
  }

  // If the pressed button is gone, reading continues where its answer begins.
  land(element, before) {
    if (before === document.body || before.isConnected || document.activeElement !== document.body) return;
    const outcome = element.querySelector("[data-landing]");
    const heading = outcome || element.querySelector("h2.asked") || document.querySelector("[data-spoken]")
      || element.querySelector("h2");
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: heading !== outcome });
  }

  // How the button or link that has the focus is found again when the part around it is drawn again.
  likeness(active) {
    if (active.dataset.do) return `[data-do="${CSS.escape(active.dataset.do)}"]`;
    const href = active.getAttribute("href");
    return href ? `a[href="${CSS.escape(href)}"]` : "";
  }

  // What a person has typed stays when the part around it is drawn again, as long as it is the same field.
  restore(element, typed) {
    for (const [id, value, form] of typed) {
      const field = document.getElementById(id);
      if (field && element.contains(field) && field.form?.id === form) field.value = value;
    }
    this.recall(element);
    for (const form of element.querySelectorAll("form[data-confirm]")) this.arm(form);
  }

  // A reason outlives a reload of this window, and ends with the commit that it was given for; it is in no address.
  recall(element) {
    for (const field of element.querySelectorAll("[data-store]")) {
      if (!field.value) field.value = sessionStorage.getItem(`explorer ${field.dataset.store}`) || "";
    }
    if (!element.querySelector('[data-outcome="committed"]')) return;
    if (this.committing) sessionStorage.removeItem(`explorer ${this.committing}`);
    this.committing = null;
  }

  collect({ id, name, type, text, done, copy, what, note }) {
    (this.parts[id] = this.parts[id] || []).push(text);
    if (!done) return;
    if (copy) {
      this.copy(this.parts[id].join(""), `${what} copied${note ? `: ${note}` : ""}`);
      delete this.parts[id];
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(this.parts[id], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    delete this.parts[id];
    this.say(`${name} downloaded${note ? `: ${note}` : ""}`);
  }

  say(text) {
    const notice = document.getElementById("toast");
    notice.textContent = text;
    notice.classList.add("shown");
    window.clearTimeout(this.saying);
    this.saying = window.setTimeout(() => notice.classList.remove("shown"), 2600);
  }

  // --- clicks, forms, keys

  click(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
    const link = target.closest("a[data-nav]");
    if (link && !event.metaKey && !event.ctrlKey && event.button === 0) {
      if (event.shiftKey && !link.dataset.shift) return;
      event.preventDefault();
      const menu = link.closest("details.menu");
      if (menu) menu.open = false;
      this.suggested(link.closest("[data-suggests]"));
      this.go(link.getAttribute("href"));
      return;
    }
    const button = target.closest("[data-do]");
    if (button) this.act(button.dataset.do, button);
  }

  act(name, element) {
    if (name === "theme") this.theme();
    else if (name === "copy") this.copy(element.dataset.text, element.dataset.what || "copied");
    else if (name === "copy-link") this.copyLink(element);
    else if (name === "shortcuts") document.getElementById("shortcuts").showModal();
    else if (name === "cell") this.cell(element);
    else if (name === "close") element.closest("dialog").close();
    else if (name === "retry") this.retry();
    else if (name === "reload") location.reload();
    else if (name === "seen") this.seen();
    else if (name === "mistake") this.mistake();
    else if (name === "dismiss") element.closest(".notice").remove();
    else this.ask(name, { ...element.dataset });
  }

  // A link shows others what is on show now: it names both versions, unless it is to follow the newest one.
  copyLink(element) {
    const values = new URLSearchParams(location.search);
    const shown = document.getElementById("steps")?.dataset;
    const versions = { v: shown?.pinnedVersion, c: shown?.pinnedCompared };
    for (const [key, version] of Object.entries(versions)) {
      if ("follow" in element.dataset) values.delete(key);
      else if (version) values.set(key, version);
    }
    const menu = element.closest("details.menu");
    if (menu) menu.open = false;
    const query = queryOf(values);
    this.copy(`${location.origin}${location.pathname}${query === "?" ? "" : query}`, "link copied");
  }

  // The first answer that is refused, which may be far from what says that one is.
  mistake() {
    const note = document.querySelector(".note-error");
    note?.scrollIntoView({ block: "center" });
    document.querySelector(`[aria-describedby~="${note?.parentElement.id}"]`)?.focus({ preventScroll: true });
  }

  seen() {
    this.keep("since", Date.now());
    this.ask("seen");
  }

  keep(name, value) {
    const secure = location.protocol === "https:" ? ";Secure" : "";
    document.cookie = `explorer-${name}=${value};path=${location.pathname};max-age=31536000;SameSite=Lax${secure}`;
  }

  // A value that is clipped in its cell, in full as far as the page has it.
  cell(element) {
    const dialog = document.getElementById("cell");
    const text = element.title;
    dialog.querySelector("h2").textContent = element.dataset.name;
    dialog.querySelector("pre").textContent = text;
    dialog.querySelector("p").textContent = text.endsWith("\u2026") ? "The beginning; an export has all of it." : "";
    dialog.querySelector("[data-do=copy]").dataset.text = text;
    dialog.showModal();
  }

  theme() {
    const theme = this.root.dataset.theme === "dark" ? "light" : "dark";
    this.root.dataset.theme = theme;
    this.keep("theme", theme);
    this.ask("theme", { theme });
  }

  async copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    this.say(what);
  }

  submit(event) {
    const form = event.target.closest("form[data-nav], form[data-send]");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.send) return this.send(form);
    window.clearTimeout(this.typing);
    this.upwards = "check" in form.dataset;
    const menu = form.closest("details.menu");
    if (menu) menu.open = false;
    const query = this.query(form);
    if ("suggests" in form.dataset) this.suggested(form);
    this.go(query);
  }

  send(form) {
    const fields = Object.fromEntries(new FormData(form));
    if (form.dataset.send === "person") {
      this.keep("person", encodeURIComponent(fields.name.trim()));
    }
    if ("confirm" in form.dataset) {
      if (form.dataset.sent) return;
      this.committing = form.elements.reason?.dataset.store;
      form.dataset.sent = "yes";  // a disabled button would lose the focus
    }
    this.ask(form.dataset.send, fields);
  }

  change(event) {
    const { upload } = event.target.dataset;
    if (upload) return this.upload(upload, event.target);
    const form = event.target.closest("form[data-nav]");
    if (form && !("check" in form.dataset) && event.target.matches("select, input[type=range]")) this.go(this.query(form));
  }

  async upload(kind, field) {
    const [file] = field.files;
    if (!file) return;
    const text = await file.text();
    field.value = "";
    this.ask(kind, { text, name: file.name });
  }

  input(event) {
    const form = event.target.closest("form");
    if (!form) return;
    const { store, suggest } = event.target.dataset;
    if (suggest) return this.later(() => this.ask(suggest, { text: event.target.value }));
    if (store) sessionStorage.setItem(`explorer ${store}`, event.target.value);
    if ("confirm" in form.dataset) return this.arm(form);
    if ("check" in form.dataset) return this.later(() => this.check(form));
    if (form.matches("[data-nav]") && event.target.matches("input[type=search]")) {
      this.later(() => this.go(this.query(form), true));
    }
  }

  later(then) {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(then, 160);
  }

  check(form) {
    if (!form.isConnected) return;
    const pairs = form.querySelectorAll('[name^="f.key."]').length;
    this.ask("draft", { query: this.query(form), pairs });
  }

  // A commit can be sent once a reason is given and the table's name is typed; the server checks both again.
  arm(form) {
    const name = form.querySelector("[data-expect]");
    const reason = form.elements.reason;
    const ready = name.value === name.dataset.expect && (!reason || reason.value.trim() !== "");
    form.querySelector("button[type=submit]").disabled = !ready;
  }

  query(form) {
    const values = new URLSearchParams();
    for (const [key, value] of new FormData(form)) if (value !== "") values.append(key, value);
    return queryOf(values);
  }

  key(event) {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
      return;
    }
    const target = event.composedPath()[0];
    const suggests = target instanceof Element && target.closest("[data-suggests]");
    if (suggests && this.suggestKey(event, suggests)) return;
    // In a field of several lines Enter sends the form, and Shift+Enter begins a line.
    if (target instanceof Element && target.matches("textarea[data-enter]") && event.key === "Enter" && !event.shiftKey) {
      return this.stop(event, () => target.form.requestSubmit());
    }
    if (target instanceof Element && target.matches("input, select, textarea, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;
    if (target instanceof Element && target.matches("td[data-do]") && ["Enter", " "].includes(event.key)) {
      return this.stop(event, () => this.act(target.dataset.do, target));
    }
    if (target instanceof Element && target.closest(".grid") && event.key !== "?") return;
    const steps = document.getElementById("steps");
    if (event.key === "?") return this.stop(event, () => this.act("shortcuts"));
    if (!steps) return;
    const way = { t: "view", f: "fold", "+": "zoomIn", "=": "zoomIn", "-": "zoomOut" }[event.key];
    if (way) return this.stop(event, () => steps.dataset[way] && this.go(steps.dataset[way]));
    if (event.key === "0") return this.stop(event, () => this.strip.all());
    const step = STEP_KEYS[event.key];
    const key = step ? `${event.shiftKey ? "compared" : "version"}${step > 0 ? "Next" : "Previous"}`
      : event.key === "Home" ? "versionFirst" : event.key === "End" ? "versionLast" : "";
    const query = key && steps.dataset[key];
    if (key) this.stop(event, () => query && query !== location.search && this.go(query, this.repeating(event)));
  }

  // Arrows lead from the field into what it suggests, and back; Escape takes that away.
  suggestKey(event, form) {
    const [field, ...links] = form.querySelectorAll("[data-suggest], .matches a");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Escape") return false;
    event.preventDefault();
    if (!step) this.suggested(form);
    else if (links.length) [field, ...links][[field, ...links].indexOf(document.activeElement) + step]?.focus();
    else if (step > 0) this.ask(field.dataset.suggest, { text: field.value });
    return true;
  }

  // What was suggested is done with: the field is empty again, and has the focus.
  suggested(form) {
    if (!form) return;
    window.clearTimeout(this.typing);
    const field = form.querySelector("[data-suggest]");
    form.querySelector(".matches").replaceChildren();
    field.focus();
    field.value = "";
  }

  repeating(event) {
    return event.repeat;
  }

  stop(event, then) {
    event.preventDefault();
    then();
  }

  // --- figures

  fitAll() {
    for (const id of FIGURES) {
      // On paper a figure is made smaller as a whole: plotly does not draw it again for the page.
      const slot = document.getElementById(id);
      if (slot?.clientWidth) slot.style.setProperty("--print-zoom", Math.min(1, PAPER / slot.clientWidth).toFixed(3));
      const plot = document.getElementById(id) && pierce(document.getElementById(id), ".js-plotly-plot");
      if (plot?.on && !plot.dataset.watched) {
        plot.dataset.watched = "yes";
        plot.on("plotly_afterplot", () => this.fit(plot));
        plot.on("plotly_click", (event) => this.chosen(plot, event.points[0]));
      }
      if (plot) this.fit(plot);
    }
  }

  // A figure that is drawn before its place has a size comes out 700 px wide, and one that takes the place of another
  // may keep its height; whichever draw ends last, it fits here.
  fit(plot) {
    const { clientWidth: width, clientHeight: height } = plot.getRootNode().host ?? {};
    const drawn = plot._fullLayout;
    if (!width || !height || !drawn) return;
    if (Math.abs(drawn.width - width) > 1 || Math.abs(drawn.height - height) > 1) window.Plotly.relayout(plot, { width, height });
  }

  // A mark that stands for a column or a file chooses it; the figure says which of the two its marks are.
  chosen(plot, point) {
    const key = plot.layout.meta?.chooses;
    if (!key || typeof point?.customdata !== "string") return;
    const values = new URLSearchParams(location.search);
    values.set(key, decodeURIComponent(point.customdata));
    this.go(queryOf(values));
  }

  // --- the versions

  choose(version, compared) {
    const values = new URLSearchParams(location.search);
    if (version !== null) {
      values.set("v", version);
      if (compared === null) values.delete("c");
    }
    if (compared !== null) values.set("c", compared);
    this.go(queryOf(values));
  }
}

export function render({ model }) {
  if (!window.explorerPage) window.explorerPage = new Page(model);
  const mark = document.createElement("span");
  mark.hidden = true;
  return mark;
}
