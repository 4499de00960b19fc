// The page's one script: it turns clicks and keys into addresses, sends them to the program, and puts what comes back in
// its place. All text arrives escaped by the program's templates; nothing here builds HTML from data.
//
// It knows its host alone, never the browser's document or address: a page may be one of several in a notebook. A host has
//   root, element     where the page's elements are, and the one that carries its theme and state
//   send, hear        messages to the program, and from it
//   query, push       the address as a query string, and a new one; moved(call) hears of others
//   link(query)       the whole address, for others
//   keep              a preference that outlives the page: theme, screen, person
//   remember, recall  a text that outlives a reload of the page, and no more; null forgets it
//   note, noted       a text that outlives the window, where there is a place for it
//   open(query)       another window with an address, where there can be one
//   plotly            a promise of plotly, which is rejected if it cannot be loaded
//   size, title, reload, leaves(call)

import { Chart } from "./chart.js";
import { Palette } from "./palette.js";
import { paintRowsInSight } from "./rows.js";
import { figureText, pageFile, pngOf, svgText } from "./sharing.js";
import { Strip } from "./strip.js";

const STEP_KEYS = { ArrowLeft: -1, ArrowRight: 1 };
const BUSY_AFTER = 300;      // ms without an answer until the bar at the top moves
const SILENT_AFTER = 20_000; // ms without an answer until the page says so

// Values as the address of a page; a table's name keeps its slashes.
function queryOf(values) {
  return "?" + values.toString().replaceAll("%2F", "/");
}

export class Page {
  constructor(host, figures = {}) {
    this.host = host;
    this.root = host.root;
    this.element = host.element;
    this.sent = 0;
    this.answered = 0;
    this.went = 0;
    this.parts = {};
    this.patience = SILENT_AFTER;
    this.ends = new AbortController();
    if (this.place("timeline-slot")) this.strip = new Strip(host, this.ends.signal);
    if (this.place("chart-slot")) this.chart = new Chart(host);
    this.palette = new Palette(this);
    this.draw(figures);
  }

  // The program is there: from now on the page reacts.
  connect() {
    const { host, root, ends: { signal } } = this;
    host.hear((message) => this.receive(message));
    for (const kind of ["click", "submit", "change", "input"]) {
      root.addEventListener(kind, (event) => this[kind](event), { signal });
    }
    root.addEventListener("keydown", (event) => this.key(event), { signal });
    root.addEventListener("focusin", (event) => this.wake(event), { signal });
    document.addEventListener("visibilitychange", () => this.tellVisible(), { signal });
    // No person's question: a link from another page to a part of this page comes this way too.
    host.moved(() => this.ask("go", { query: host.query() }));
    for (const kind of ["pointerdown", "keydown"]) {
      root.addEventListener(kind, () => { this.acted = true; }, { capture: true, once: true, signal });
    }
    for (const figure of [this.strip, this.chart]) if (figure) figure.page = this;
    this.heights();
    const look = () => host.keep("looked", Date.now());
    look();
    host.leaves(look);
    this.restore(root, []);
    this.element.dataset.live = "yes";
    this.showChosenCommit();
    const { theme, shownTheme, mark } = this.element.dataset;
    this.ask("hello", { query: host.query(), theme, shown: shownTheme, mark, ...host.size() });
    if (document.hidden) this.tellVisible();
    this.keepCase();
    this.palette.connect(signal);
  }

  close() {
    this.ends.abort();
    this.chart?.close();
    for (const timer of [this.waiting, this.listening, this.saying, this.typing]) window.clearTimeout(timer);
  }

  place(id) {
    return this.root.getElementById(id);
  }

  draw({ strip, chart }) {
    if (strip) this.strip?.show(strip);
    if (chart) this.chart?.show(chart);
  }

  // --- to the server

  ask(kind, fields = {}) {
    this.sent += 1;
    if (kind === "go") this.went = this.sent;
    this.host.send({ kind, number: this.sent, ...fields });
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.element.classList.add("busy"), BUSY_AFTER);
    this.listen();
  }

  // An answer that does not come is a notice: the request may be lost, or take long.
  listen() {
    window.clearTimeout(this.listening);
    this.listening = window.setTimeout(() => this.silent("late"), this.patience);
  }

  silent(why) {
    // What the server itself has said stays.
    if (["refused", "ended", "unloaded", "lost"].includes(this.element.dataset.silence)) return;
    this.element.dataset.silence = why;
    this.element.classList.remove("busy");
  }

  retry() {
    delete this.element.dataset.silence;
    this.ask("go", { query: this.host.query(), asked: true });
  }

  // What sticks to the top covers what is scrolled to; the page keeps that much free.
  heights() {
    const [strip, tabs] = [this.place("strip"), this.place("tabs")];
    if (!strip || !tabs) return;
    const height = (element) => (getComputedStyle(element).position === "sticky" ? element.offsetHeight : 0);
    const tell = () => {
      this.element.style.setProperty("--strip", `${height(strip)}px`);
      this.element.style.setProperty("--ambient", `${height(strip) + height(tabs)}px`);
    };
    const sizes = new ResizeObserver(tell);
    for (const element of [strip, tabs]) sizes.observe(element);
    this.ends.signal.addEventListener("abort", () => sizes.disconnect());
    window.addEventListener("resize", tell, { signal: this.ends.signal });
  }

  // Nothing answers this: a page that is left is hidden too, and its connection gone.
  tellVisible() {
    this.host.send({ kind: "visible", visible: !document.hidden });
  }

  // A form that needs Spark was touched: it starts while the person types. Nothing answers this.
  wake(event) {
    if (this.woke || !this.acted || !event.target.closest?.("[data-wakes]")) return;
    this.woke = true;
    this.host.send({ kind: "wake-spark" });
  }

  go(query, replace = false) {
    const current = this.host.query();
    const [from, to] = [current, query].map((text) => new URLSearchParams(text));
    // Another tab is read from its beginning; another version keeps the person's place.
    if (["t", "tab"].some((key) => from.get(key) !== to.get(key))) this.upwards = true;
    if (query !== current) this.host.push(query, replace);
    // What a person opens is brought into view; what an address opens leaves the place and the focus alone.
    this.opening = true;
    this.asked = false;
    this.ask("go", { query, asked: true });
  }

  // --- from the server

  receive(message) {
    if (message.kind === "patch") this.patch(message);
    else if (message.kind === "file") this.collect(message);
    else if (message.kind === "reload") this.host.reload();
  }

  patch({ regions, hidden, title, number, query, say, strip, chart }) {
    const held = this.root.activeElement?.id;
    const had = this.root.querySelector("[data-result]");
    const opened = this.opened();
    for (const [id, html] of Object.entries(regions)) this.replace(id, html);
    // A button that begins something and the one that stops it share an id, wherever they are.
    if (held && this.root.activeElement?.id !== held) this.place(held)?.focus();
    for (const [id, off] of Object.entries(hidden)) {
      const element = this.place(id);
      if (element) element.classList.toggle("off", off);
    }
    this.draw({ strip, chart });
    if (this.upwards && "lead" in regions) {
      this.upwards = false;
      const main = this.place("main");
      const covered = parseFloat(getComputedStyle(this.element).scrollPaddingTop) || 0;
      if (main.getBoundingClientRect().top < covered) main.scrollIntoView({ block: "start" });
    }
    const result = this.root.querySelector("[data-result]");
    // A result that a person asked for; a tab that opens with rows leaves the place, also that of a notebook.
    if (result && !had && this.asked) {
      this.asked = false;
      result.scrollIntoView({ block: "nearest" });
    }
    if (this.opening && opened !== this.opened()) this.arrive();
    if ("commits" in regions) this.showChosenCommit();
    if (this.picked) this.showPicked();
    if ("tabs" in regions) this.keepCase();
    this.palette.patched(regions);
    this.speak();
    if (title) this.host.title(title);
    if (say) this.say(say);
    // An address for a page that the person has left since comes too late.
    if (query && number >= this.went && query !== this.host.query()) this.host.push(query, true);
    this.answered = Math.max(this.answered, number || 0);
    if (this.element.dataset.silence === "late") delete this.element.dataset.silence;
    if (this.answered >= this.sent) {
      window.clearTimeout(this.waiting);
      window.clearTimeout(this.listening);
      this.element.classList.remove("busy");
    } else this.listen();
    this.element.dataset.answered = String(this.answered);
  }

  // What a person opened beside the page, or below it where there is no room.
  opened() {
    return this.root.querySelector("[data-shown]")?.dataset.shown;
  }

  arrive() {
    this.opening = false;
    const heading = this.root.querySelector("[data-shown] h2");
    if (!heading) return;
    heading.closest("[data-shown]").scrollIntoView({ block: "nearest" });
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  // The list of commits scrolls to the chosen one by itself, and the page stays where it is.
  showChosenCommit() {
    const row = this.root.querySelector("#commits tr[aria-current]");
    const box = row?.closest(".tall");
    if (box) box.scrollTop = row.offsetTop - (box.clientHeight - row.offsetHeight) / 2;
  }

  // A screen reader reads the result of a plan or a commit once: it does not read parts that are drawn again.
  speak() {
    const text = this.root.querySelector("[data-spoken]")?.textContent.replace(/\s+/g, " ").trim() || "";
    if (text !== (this.spoken || "")) this.place("spoken").textContent = text;
    this.spoken = text;
  }

  // A case outlives a reload of this window, and goes along to the pages of another table; it is in no address.
  keepCase() {
    const kept = this.place("case-kept");
    if (!kept) return;
    const text = this.keptCase ? "" : this.host.recall("case");
    this.keptCase = true;
    if (text && !kept.dataset.case) this.ask("case-load", { text, name: "The case of this window" });
    else this.host.remember("case", kept.dataset.case);
  }

  replace(id, html) {
    const element = this.place(id);
    if (!element) return;
    const active = this.root.activeElement;
    const kept = active && element.contains(active) && active.id ? { id: active.id, value: active.value } : null;
    const pressed = active && element.contains(active) && !active.id ? this.likeness(active) : "";
    const typing = kept && (active.type === "search" || "keep" in active.dataset);
    const selection = typing ? [active.selectionStart, active.selectionEnd] : null;
    const fields = [...element.querySelectorAll("[data-keep]")].filter((field) => field.value !== field.defaultValue);
    const typed = fields.map((field) => [field.id, field.value, field.form?.id]);
    element.innerHTML = html;
    explorerStyled(element);
    paintRowsInSight(element, pressed ? element.querySelector(pressed) : kept && this.place(kept.id));
    this.restore(element, typed);
    if (pressed) element.querySelector(pressed)?.focus({ preventScroll: true });
    const again = kept && this.place(kept.id);
    if (!again) return this.land(element, active);
    if (selection) {
      again.value = kept.value;
      again.focus({ preventScroll: true });
      again.setSelectionRange(...selection);
    } else again.focus({ preventScroll: true });
  }

  // If the pressed button is gone, reading continues where its answer begins.
  land(element, before) {
    if (!before || before === document.body || before.isConnected || ![null, document.body].includes(this.root.activeElement)) return;
    const outcome = element.querySelector("[data-landing]");
    const heading = outcome || element.querySelector("h2.asked") || this.root.querySelector("[data-spoken]")
      || element.querySelector("h2");
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: heading !== outcome });
  }

  // How to find the focused button or link again when the part around it is drawn again.
  likeness(active) {
    if (active.dataset.do) return `[data-do="${CSS.escape(active.dataset.do)}"]`;
    const href = active.getAttribute("href");
    return href ? `a[href="${CSS.escape(href)}"]` : "";
  }

  // What a person has typed stays when the part around it is drawn again, as long as it is the same field.
  restore(element, typed) {
    for (const [id, value, form] of typed) {
      const field = this.place(id);
      if (field && element.contains(field) && field.form?.id === form) field.value = value;
    }
    this.recall(element);
    for (const form of element.querySelectorAll("form[data-confirm]")) this.arm(form);
  }

  // A reason outlives a reload of this window, and ends with the commit that it was given for; it is in no address.
  recall(element) {
    for (const field of element.querySelectorAll("[data-store]")) {
      if (!field.value) field.value = this.host.recall(field.dataset.store);
    }
    if (!element.querySelector('[data-outcome="committed"]')) return;
    if (this.committing) this.host.remember(this.committing, null);
    this.committing = null;
  }

  collect({ id, name, type, text, done, copy, what, note, coded }) {
    (this.parts[id] = this.parts[id] || []).push(text);
    if (!done) return;
    if (copy) {
      this.copy(this.parts[id].join(""), `${what} copied${note ? `: ${note}` : ""}`);
      delete this.parts[id];
      return;
    }
    // Bytes that are no text come as letters.
    const content = coded ? [Uint8Array.from(atob(this.parts[id].join("")), (letter) => letter.charCodeAt(0))] : this.parts[id];
    delete this.parts[id];
    this.download(new Blob(content, { type }), name, note);
  }

  download(blob, name, note = "") {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    this.say(`${name} downloaded${note ? `: ${note}` : ""}`);
  }

  // The drawing that a button names, or the figure of plotly in it, as a picture.
  async savePicture(element) {
    element.closest("details.menu").open = false;
    const { of: id, format } = element.dataset;
    try {
      const text = await this.picture(this.place(id));
      const blob = format === "png" ? await pngOf(text) : new Blob([text], { type: "image/svg+xml" });
      this.download(blob, `${this.fileName(id.replace("-figure", ""))}.${format}`);
    } catch (error) {
      console.info(error);
      this.say("The picture could not be made. Reload the page and try again.");
    }
  }

  async picture(place) {
    const ground = getComputedStyle(this.element).getPropertyValue("--surface").trim() || "white";
    const plot = place.matches(".js-plotly-plot") ? place : place.querySelector(".js-plotly-plot");
    return plot ? figureText(await this.host.plotly(), plot, ground) : svgText(place.closest("svg") || place.querySelector("svg"), ground);
  }

  async savePage(element) {
    const menu = element.closest("details.menu");
    if (menu) menu.open = false;
    const pictures = [];
    for (const id of ["strip-figure", "chart-figure"]) {
      const place = this.place(id);
      const seen = place?.querySelector(".main-svg") && place.getBoundingClientRect().width > 0;
      if (seen) pictures.push([id, await this.picture(place)]);
    }
    const name = this.fileName(new URLSearchParams(this.host.query()).get("tab") || "page");
    this.download(new Blob([await pageFile(this.host, name, pictures)], { type: "text/html" }), `${name}.html`);
  }

  // The table, the version and what of it, as a name that every system takes for a file.
  fileName(what) {
    const table = new URLSearchParams(this.host.query()).get("t") || "tables";
    const version = this.place("steps")?.dataset.pinnedVersion;
    const parts = [table.split("/").at(-1), version && `v${version}`, what];
    return parts.filter(Boolean).join("-").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 120);
  }

  say(text) {
    const notice = this.place("toast");
    notice.textContent = text;
    notice.classList.add("shown");
    window.clearTimeout(this.saying);
    this.saying = window.setTimeout(() => notice.classList.remove("shown"), 2600);
  }

  // --- clicks, forms, keys

  click(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    for (const menu of this.root.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
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
    // A browser searches only its document for the part of an address, where a notebook has its own.
    const part = target.closest('main a[href^="#"]');
    if (part) return this.stop(event, () => this.reach(part.getAttribute("href").slice(1)));
    const button = target.closest("[data-do]");
    if (button) return this.act(button.dataset.do, button);
    // A row leads to its story, unless a person selects text in it.
    const row = target.closest("tr[data-follow]");
    if (row && !event.metaKey && !event.ctrlKey && !event.shiftKey && window.getSelection().isCollapsed) {
      this.go(row.querySelector(".follow a").getAttribute("href"));
    }
  }

  // Go on with a part of the page.
  reach(id) {
    const part = this.place(id);
    if (!part) return;
    part.tabIndex = -1;
    part.scrollIntoView({ block: "start" });
    part.focus({ preventScroll: true });
  }

  act(name, element) {
    this.asked = true;
    if (name === "theme") this.theme();
    else if (name === "copy") this.copy(element.dataset.text, element.dataset.what || "copied");
    else if (name === "copy-link") this.copyLink(element);
    else if (name === "shortcuts") this.place("shortcuts").showModal();
    else if (name === "palette") this.palette.open();
    else if (name === "cell") this.cell(element);
    else if (name === "close") element.closest("dialog").close();
    else if (name === "retry") this.retry();
    else if (name === "reload") this.host.reload();
    else if (name === "seen") this.seen();
    else if (name === "mistake") this.mistake();
    else if (name === "dismiss") element.closest(".notice").remove();
    else if (name === "save-picture") this.savePicture(element);
    else if (name === "save-page") this.savePage(element);
    else if (name === "pick" || name === "unpick") this.pick(element.dataset.name);
    else this.ask(name, { ...element.dataset });
  }

  // Two tables of the list are chosen to be compared; of three the first is left. Without a name none is chosen.
  pick(name) {
    const chosen = this.picked || [];
    const others = chosen.filter((each) => each !== name);
    this.picked = name === undefined ? [] : others.length < chosen.length ? others : [...chosen.slice(-1), name];
    this.showPicked();
  }

  showPicked() {
    const bar = this.place("home-pair");
    if (!bar) return;
    const [first, second] = this.picked || [];
    for (const button of this.root.querySelectorAll("[data-do=pick]")) {
      button.setAttribute("aria-pressed", String([first, second].includes(button.dataset.name)));
    }
    bar.classList.toggle("off", first === undefined);
    if (first === undefined) return;
    const link = bar.querySelector("a");
    link.classList.toggle("off", second === undefined);
    bar.querySelector(".said").textContent = second === undefined
      ? `Compare ${first} with …: choose a second table.` : `${first} and ${second}`;
    link.href = queryOf(new URLSearchParams({ t: first, tab: "diff", with: second ?? "" }));
  }

  // A link shows others what is on show now: it names both versions, unless it is to follow the newest one.
  copyLink(element) {
    if (element.dataset.query) {
      this.copy(this.host.link(element.dataset.query), "link copied");
      return;
    }
    const values = new URLSearchParams(this.host.query());
    const shown = this.place("steps")?.dataset;
    const versions = { v: shown?.pinnedVersion, c: shown?.pinnedCompared };
    for (const [key, version] of Object.entries(versions)) {
      if ("follow" in element.dataset) values.delete(key);
      else if (version) values.set(key, version);
    }
    const menu = element.closest("details.menu");
    if (menu) menu.open = false;
    const query = queryOf(values);
    this.copy(this.host.link(query), "link copied");
  }

  // The first answer that is refused, which may be far from what says that one is.
  mistake() {
    const note = this.root.querySelector(".note-error");
    note?.scrollIntoView({ block: "center" });
    this.root.querySelector(`[aria-describedby~="${note?.parentElement.id}"]`)?.focus({ preventScroll: true });
  }

  seen() {
    this.host.keep("since", Date.now());
    this.ask("seen");
  }

  // A value that is clipped in its cell, in full as far as the page has it.
  cell(element) {
    const dialog = this.place("cell");
    const text = element.title;
    dialog.querySelector("h2").textContent = element.dataset.name;
    dialog.querySelector("pre").textContent = text;
    dialog.querySelector("p").textContent = text.endsWith("\u2026") ? "The beginning; an export has all of it." : "";
    dialog.querySelector("[data-do=copy]").dataset.text = text;
    dialog.showModal();
  }

  theme() {
    const theme = this.element.dataset.theme === "dark" ? "light" : "dark";
    this.element.dataset.theme = theme;
    this.host.keep("theme", theme);
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
    this.asked = true;
    const fields = Object.fromEntries(new FormData(form));
    if (form.dataset.send === "person") {
      this.host.keep("person", encodeURIComponent(fields.name.trim()));
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
    if (store) this.host.remember(store, event.target.value);
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
    if (this.palette.key(event)) return;
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const menu = event.key === "Escape" && this.root.querySelector("details.menu[open]");
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
    if (this.root.querySelector("dialog[open]")) return;
    if (target instanceof Element && target.matches("td[data-do]") && ["Enter", " "].includes(event.key)) {
      return this.stop(event, () => this.act(target.dataset.do, target));
    }
    // A link that is a box to tick is ticked by the space bar, which would scroll the page.
    const box = event.key === " " && target instanceof Element && target.closest("a[role='checkbox']");
    if (box) return this.stop(event, () => this.go(box.getAttribute("href")));
    if (target instanceof Element && target.closest(".grid") && event.key !== "?") return;
    if (this.palette.plainKey(event)) return;
    const own = event.key.length === 1 && this.root.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
    if (own) return this.stop(event, () => this.go(own.getAttribute("href")));
    const steps = this.place("steps");
    if (event.key === "?") return this.stop(event, () => this.act("shortcuts"));
    if (!steps) return;
    const way = { t: "view", f: "fold", "+": "zoomIn", "=": "zoomIn", "-": "zoomOut" }[event.key];
    if (way) return this.stop(event, () => steps.dataset[way] && this.go(steps.dataset[way]));
    if (event.key === "0") return this.stop(event, () => this.strip.all());
    const step = STEP_KEYS[event.key];
    const key = step ? `${event.shiftKey ? "compared" : "version"}${step > 0 ? "Next" : "Previous"}`
      : event.key === "Home" ? "versionFirst" : event.key === "End" ? "versionLast" : "";
    const query = key && steps.dataset[key];
    if (key) this.stop(event, () => query && query !== this.host.query() && this.go(query, this.repeating(event)));
  }

  // Arrows lead from the field into what it suggests, and back; Escape takes that away.
  suggestKey(event, form) {
    const [field, ...links] = form.querySelectorAll("[data-suggest], .matches a");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Escape") return false;
    event.preventDefault();
    if (!step) this.suggested(form);
    else if (links.length) [field, ...links][[field, ...links].indexOf(this.root.activeElement) + step]?.focus();
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

  // --- the versions

  choose(version, compared) {
    const fields = {};
    if (version !== null) Object.assign(fields, { v: version, ...(compared === null && { c: null }) });
    if (compared !== null) Object.assign(fields, { c: compared, with: null, wv: null }); // in place of another table
    this.set(fields);
  }

  // Go to this address with some fields changed; returns whether that is another one.
  set(fields, replace = false) {
    const values = new URLSearchParams(this.host.query());
    for (const [key, value] of Object.entries(fields)) {
      if (value === null) values.delete(key);
      else values.set(key, value);
    }
    const query = queryOf(values);
    if (query === this.host.query()) return false;
    this.go(query, replace);
    return true;
  }
}
