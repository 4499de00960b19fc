// The palette: one field, and what it leads to. The program ranks; this moves the choice, goes there, and remembers.
//
// The field keeps the focus: the option that Enter takes is named by aria-activedescendant. What was used last is kept
// by the browser, by the identity of its table, and is shown only if the program still serves it.

const TYPING = 60;         // ms without a key until the program is asked
const AGAIN = 900;         // ms until it is asked again, while tables are being read
const PREFIX = 1_200;      // ms in which a letter follows g
const REMEMBERED = 12;

export class Palette {
  constructor(page) {
    this.page = page;
    this.dialog = page.place("palette");
    this.field = page.place("palette-find");
  }

  connect(signal) {
    const { dialog, field } = this;
    field.addEventListener("input", () => {
      this.moved = "";
      this.awaited = null;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), TYPING);
    }, { signal });
    dialog.addEventListener("keydown", (event) => this.move(event), { signal });
    dialog.addEventListener("pointermove", (event) => this.choose(event.target.closest("[role=option]")), { signal });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) return dialog.close(); // beside it
      const option = event.target.closest("[role=option]");
      if (option) this.take(option, event.metaKey || event.ctrlKey);
    }, { signal });
    dialog.addEventListener("close", () => [this.timer, this.again].forEach(clearTimeout), { signal });
    this.visited();
  }

  open() {
    if (this.dialog.open) return;
    this.field.value = this.moved = "";
    this.awaited = null;
    this.dialog.showModal();
    this.field.focus();
    this.ask();
  }

  ask() {
    this.page.ask("palette", { text: this.field.value, recents: this.recents() });
  }

  patched(regions) {
    if ("tabs" in regions) this.visited();
    if (!("palette-results" in regions)) return;
    const options = this.options();
    this.field.setAttribute("aria-expanded", String(options.length > 0));
    const same = this.moved && options.find((option) => this.moved === (option.dataset.recent || option.dataset.href));
    this.choose(same || options[0]);
    this.takeAnswered();
    clearTimeout(this.again);
    if (this.dialog.open && this.page.place("palette-said")?.matches("[data-pending]")) {
      this.again = setTimeout(() => this.dialog.open && this.ask(), AGAIN);
    }
  }

  // --- keys

  // Ctrl K and Cmd K open it wherever the focus is, also from a field; in a notebook only inside of the widget.
  key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return false;
    event.preventDefault();
    if (this.dialog.open) this.dialog.close();
    else if (!this.page.root.querySelector("dialog[open]")) this.open();
    return true;
  }

  // Keys without others, where no field has the focus: / opens it, g and a letter go to a tab.
  plainKey(event) {
    const went = this.pressed && performance.now() - this.pressed < PREFIX;
    this.pressed = 0;
    if (event.key === "/") {
      event.preventDefault();
      this.open();
      return true;
    }
    if (event.key === "g" && !event.repeat && !went) {
      this.pressed = performance.now();
      return true;
    }
    if (!went || event.key.length !== 1) return false;
    const { page } = this;
    const tab = page.root.querySelector(`#tabs a[data-letter="${CSS.escape(event.key)}"]`);
    const home = event.key === "l" && page.root.querySelector("a[data-home]");
    const link = tab || (home?.offsetParent && home);
    if (!link) return false;
    event.preventDefault();
    page.go(link.getAttribute("href"));
    return true;
  }

  move(event) {
    const options = this.options();
    const at = options.indexOf(this.chosen);
    const far = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key];
    if (far !== undefined && options.length) {
      event.preventDefault();
      // A step leads around the ends, a page stops there.
      const round = event.key.startsWith("Arrow");
      const to = round ? (far + options.length) % options.length : Math.min(Math.max(far, 0), options.length - 1);
      this.choose(options[to], true);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      this.awaited = { apart: event.ctrlKey || event.metaKey };
      this.takeAnswered();
    } else if (event.key === "Tab") {
      event.preventDefault(); // the field is all that takes keys here
    }
  }

  options() {
    return [...this.dialog.querySelectorAll("[role=option]")];
  }

  choose(option, scroll = false) {
    if (option === null) return;
    this.chosen?.setAttribute("aria-selected", "false");
    this.chosen = option;
    if (!option) return this.field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    this.field.setAttribute("aria-activedescendant", option.id);
    if (!scroll) return;
    this.moved = option.dataset.recent || option.dataset.href;
    option.scrollIntoView({ block: "nearest" });
  }

  // Enter takes what answers the text in the field: pressed before the answer is there, it waits for it.
  takeAnswered() {
    const answered = this.page.place("palette-said")?.dataset.text;
    if (!this.awaited || answered !== this.field.value.trim()) return;
    const { apart } = this.awaited;
    this.awaited = null;
    if (this.chosen) this.take(this.chosen, apart);
  }

  take(option, apart) {
    const { href, act, recent } = option.dataset;
    if (recent) this.remember(recent);
    if (href && apart && this.page.host.open) return this.page.host.open(href);
    this.dialog.close();
    if (act) this.page.act(act, option);
    else if (href) this.page.go(href);
  }

  // --- what was used last

  recents() {
    try {
      const kept = JSON.parse(this.page.host.noted("recents") || "[]");
      return Array.isArray(kept) ? kept.slice(0, REMEMBERED) : [];
    } catch {
      return []; // what another edition has written is forgotten
    }
  }

  remember(text) {
    const made = JSON.parse(text);
    const others = this.recents().filter((each) => JSON.stringify(each) !== JSON.stringify(made));
    this.page.host.note("recents", JSON.stringify([made, ...others].slice(0, REMEMBERED)));
  }

  visited() {
    const visit = this.page.place("case-kept")?.dataset.visit;
    if (visit && visit !== this.visit) this.remember(visit);
    this.visit = visit;
  }
}
