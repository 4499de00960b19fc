// The list of tables and its timeline: lanes are drawn from the numbers that rows carry, as they come into view; a drag
// chooses a range of time, a click opens a commit; pinned tables and those opened last are kept in this browser.
// It goes by what is on the page: the page's own script replaces it whenever the program draws it anew.

(() => {
const PLACES = 320;
const [FORM, OPTIMIZE, VACUUM] = [1, 2, 4];
const HOVER = 140;   // ms at a mark until its commits are asked for
const NEAR = 6;      // px from a mark that still mean it
const FAR = 4;       // px from which a press is a drag
const MOST_PINS = 40;
const BETWEEN = 6;   // px between two dates of the axis
const HEIGHT = 34;   // px of a lane's drawing

const cookie = (name) => decodeURIComponent((document.cookie.match(new RegExp(`(?:^|; )explorer-${name}=([^;]*)`)) || [])[1] || "");
const keep = (name, value) => {
  const secure = location.protocol === "https:" ? ";Secure" : "";
  document.cookie = `explorer-${name}=${encodeURIComponent(value)};path=${location.pathname};max-age=31536000;SameSite=Lax${secure}`;
};

// --- lanes

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const numbers = (text) => (text || "").split(" ").filter(Boolean).map(Number);
const marksOf = (lane) => lane.explorerMarks ||= (lane.dataset.marks || "").split(" ").filter(Boolean).map((text) => {
  const [place, added, removed, masked, updated, bits, first, last, count] = text.split(",").map(Number);
  return { place, added, removed, masked, updated, bits, first, last, count };
});

let palette = null;
function colours() {
  palette ||= Object.fromEntries(["added", "removed", "remasked", "muted", "ink", "line", "lane", "idle", "warning-mark", "warning-ground", "cursor-line", "accent"].map((name) => [name, colour(name)]));
  return palette;
}

function hatch(context, x, y, width, height, line, ground) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  if (ground) { context.fillStyle = ground; context.fillRect(x, y, width, height); }
  context.strokeStyle = line;
  context.lineWidth = 1.2;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 4) { context.moveTo(at, y + height); context.lineTo(at + height, y); }
  context.stroke();
  context.restore();
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 0.5), height - 1);
}

// The sizes of all lanes are read before the first is drawn: a drawing unsettles them all.
function drawLanes(lanes) {
  const sizes = lanes.map((lane) => [lane.clientWidth, lane.clientHeight]);
  lanes.forEach((lane, at) => drawLane(lane, ...sizes[at]));
}

function drawLane(lane, width, room) {
  if (!width || !room) return;
  const height = Math.min(room, HEIGHT); // the same for all: their bars have one scale
  const table = lane.closest("table");
  const ratio = window.devicePixelRatio || 1;
  let canvas = lane.querySelector("canvas");
  if (!canvas) {
    canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    lane.prepend(canvas);
  }
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(room * ratio);
  canvas.style.height = `${room}px`;
  canvas.style.top = "0";
  const above = Math.round((room - height) / 2);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const c = colours();
  const base = Math.round(height * 0.64);
  const up = base - 2;
  const down = height - base - 2;
  context.fillStyle = c.line;
  for (const share of numbers(table.dataset.grid)) context.fillRect(Math.round(share * width), 0, 1, room);
  context.translate(0, above);
  context.fillRect(0, base, width, 1);
  for (const span of (lane.dataset.quiet || "").split(" ").filter(Boolean)) {
    const [from, to] = span.split("-").map(Number);
    hatch(context, from * width, base - 6, Math.max((to - from) * width, 3), 10, c["warning-mark"], c["warning-ground"]);
  }
  const thick = Math.max(2, Math.min(width / PLACES, 4));
  for (const mark of marksOf(lane)) {
    const x = Math.min(mark.place / PLACES * width, width - thick);
    const tall = (level, room) => Math.max(level / 100 * room, 2);
    if (mark.updated) { context.strokeStyle = c.muted; context.lineWidth = 1; context.strokeRect(x + 0.5, base - tall(mark.updated, up) + 0.5, thick, tall(mark.updated, up)); }
    if (mark.added) { context.fillStyle = c.added; context.fillRect(x, base - tall(mark.added, up), thick, tall(mark.added, up)); }
    if (mark.removed) hatch(context, x - 1, base + 1, thick + 2, Math.max(tall(mark.removed, down), 4), c.removed);
    if (mark.masked) { context.strokeStyle = c.remasked; context.lineWidth = 1.4; context.strokeRect(x - 0.5, base + 1.5, thick + 1, Math.max(tall(mark.masked, down), 4)); }
    const middle = x + thick / 2;
    context.strokeStyle = c.ink;
    context.lineWidth = 1.2;
    if (mark.bits & FORM) { context.beginPath(); context.moveTo(middle, base - 4); context.lineTo(middle + 4, base); context.lineTo(middle, base + 4); context.lineTo(middle - 4, base); context.closePath(); context.fillStyle = colour("surface"); context.fill(); context.stroke(); }
    context.strokeStyle = c.muted;
    if (mark.bits & OPTIMIZE) { context.beginPath(); context.arc(middle, base, 3.2, 0, 7); context.fillStyle = colour("surface"); context.fill(); context.stroke(); }
    if (mark.bits & VACUUM) { context.beginPath(); context.moveTo(middle - 4, base - 3); context.lineTo(middle + 4, base - 3); context.lineTo(middle, base + 4); context.closePath(); context.fillStyle = colour("surface"); context.fill(); context.stroke(); }
    if (!mark.added && !mark.removed && !mark.masked && !mark.updated && !mark.bits) { context.fillStyle = c.idle; context.fillRect(x, base - 3, thick, 3); }
  }
  if (lane.dataset.expected) {
    context.strokeStyle = c.added;
    context.setLineDash([2, 2]);
    context.strokeRect(Number(lane.dataset.expected) * width, base - up * 0.6, 4, up * 0.6);
    context.setLineDash([]);
  }
  if (lane.dataset.due) {
    context.strokeStyle = c["warning-mark"];
    context.lineWidth = 2;
    context.setLineDash([3, 2]);
    context.beginPath();
    context.moveTo(Number(lane.dataset.due) * width, 1);
    context.lineTo(Number(lane.dataset.due) * width, height - 1);
    context.stroke();
    context.setLineDash([]);
  }
  if (table.dataset.now) { context.fillStyle = c["cursor-line"]; context.fillRect(Math.round(Number(table.dataset.now) * width), -above, 1.5, room); }
}

const inView = new Set();
const seen = new IntersectionObserver((entries) => {
  const come = [];
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) { come.push(target); } else { inView.delete(target); target.querySelector("canvas")?.remove(); }
  }
  bring(come);
}, { rootMargin: "200px" });
function bring(lanes) {
  const others = lanes.filter((lane) => !inView.has(lane));
  drawLanes(others);
  for (const lane of others) inView.add(lane);
}
const redraw = () => { palette = null; drawLanes([...inView].filter((lane) => lane.isConnected)); };

// Of the axis, every label is shown, or every second and so on: as many as have room beside each other and beside "now".
function label(axis) {
  // Places are those that the labels have in the end: their styles may not be applied yet.
  const placed = (element, before) => {
    const left = parseFloat(element.dataset.style.slice("left:".length)) / 100 * axis.clientWidth - before * element.offsetWidth;
    return { element, box: { left, right: left + element.offsetWidth } };
  };
  const now = [...axis.querySelectorAll("b")].map((element) => {
    const middle = placed(element, 0.5).box;
    const atEnd = middle.right > axis.clientWidth;
    element.classList.toggle("at-end", atEnd);
    return atEnd ? placed(element, 1).box : middle;
  });
  const labels = [...axis.querySelectorAll("span")].map((element) => placed(element, 0));
  const clear = ({ box }) => box.right <= axis.clientWidth && !now.some(({ left, right }) => box.right + BETWEEN > left && box.left < right + BETWEEN);
  const apart = (shown) => shown.every(({ box }, at) => !at || shown[at - 1].box.right + BETWEEN <= box.left);
  let shown = labels.filter(clear);
  for (let each = 2; !apart(shown); each++) shown = labels.filter((one, at) => at % each === 0 && clear(one));
  for (const one of labels) one.element.classList.toggle("off", !shown.includes(one));
}
const axes = new ResizeObserver((changes) => { for (const { target } of changes) label(target); });

let filtersOpen = false;
document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.("details.facets-fold") && target.isConnected) filtersOpen = target.open;
}, { capture: true });

function begin() {
  const fold = document.querySelector("details.facets-fold");
  if (fold && filtersOpen) fold.open = true;
  seen.disconnect();
  axes.disconnect();
  inView.clear();
  const axis = document.querySelector("#lanes .ticks");
  if (axis) axes.observe(axis);
  const lanes = [...document.querySelectorAll("#lanes td.lane[data-marks]")];
  for (const lane of lanes) seen.observe(lane);
  // Those that a window holds are drawn with the page; an observer is first heard once the scripts below have run.
  bring(lanes.slice(0, Math.ceil(innerHeight / HEIGHT)));
}

// --- what is at the pointer

const laneAt = (event) => event.target instanceof Element ? event.target.closest("#lanes td.lane[data-marks]") : null;
function markAt(lane, event) {
  const box = lane.getBoundingClientRect();
  let best = null;
  let nearest = NEAR;
  for (const mark of marksOf(lane)) {
    const away = Math.abs(box.left + (mark.place + 0.5) / PLACES * box.width - event.clientX);
    if (away < nearest) [best, nearest] = [mark, away];
  }
  return best;
}
function linkOf(lane, mark) {
  const values = new URLSearchParams({ v: mark.last, tab: "diff" });
  if (mark.count > 1) values.set("c", Math.max(mark.first - 1, 0));
  return `?t=${lane.parentElement.dataset.table}&${values}`;
}

let shown = null;
let waiting = 0;
function point(event) {
  const lane = laneAt(event);
  const mark = lane && markAt(lane, event);
  if (lane) lane.classList.toggle("pointed", Boolean(mark));
  if (mark === shown) return;
  shown = mark;
  window.clearTimeout(waiting);
  const card = document.getElementById("lane-card");
  card?.classList.remove("shown");
  if (!mark || !card || !window.explorerPage) return;
  const { clientX: x, clientY: y } = event;
  waiting = window.setTimeout(() => {
    card.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - 330))}px`;
    card.style.top = `${y + 190 > innerHeight ? Math.max(8, y - 170) : y + 16}px`;
    card.replaceChildren();
    card.classList.add("shown");
    window.explorerPage.ask("lane-card", { name: lane.parentElement.dataset.table, first: mark.first, last: mark.last });
  }, HOVER);
}

// --- a drag chooses a range

const minute = (time) => new Date(time).toISOString().slice(0, 16);
let drag = null;
function down(event) {
  const lane = laneAt(event);
  const overview = event.target instanceof Element ? event.target.closest("#overview svg") : null;
  if (event.button || (!lane && !overview)) return;
  const place = lane || overview;
  const { dataset } = lane ? lane.closest("table") : document.getElementById("overview");
  drag = { lane, place, from: event.clientX, start: Number(dataset.start), end: Number(lane ? dataset.until : dataset.end), far: false };
}
function move(event) {
  if (!drag) return point(event);
  drag.far ||= Math.abs(event.clientX - drag.from) > FAR;
  if (!drag.far) return;
  event.preventDefault();
  const box = drag.place.getBoundingClientRect();
  const around = (drag.lane ? drag.lane.closest("table") : drag.place).getBoundingClientRect();
  drag.band ||= document.body.appendChild(Object.assign(document.createElement("i"), { className: "lake-band" }));
  const [from, to] = [drag.from, event.clientX].map((x) => Math.max(box.left, Math.min(x, box.right))).sort((one, other) => one - other);
  const [top, bottom] = [Math.max(around.top, 0), Math.min(around.bottom, innerHeight)];
  Object.assign(drag.band.style, { left: `${from}px`, width: `${to - from}px`, top: `${top}px`, height: `${bottom - top}px` });
}
function up(event) {
  const done = drag;
  drag = null;
  if (!done) return;
  done.band?.remove();
  if (done.far && window.explorerPage) {
    const box = done.place.getBoundingClientRect();
    const time = (x) => done.start + Math.max(0, Math.min(1, (x - box.left) / box.width)) * (done.end - done.start);
    const [from, to] = [time(done.from), time(event.clientX)].sort((one, other) => one - other);
    if (to - from > 60_000) window.explorerPage.set({ range: `${minute(from)}~${minute(Math.min(to, Date.now()))}`, page: null });
    return;
  }
  const mark = done.lane && markAt(done.lane, event);
  if (mark) location.assign(linkOf(done.lane, mark));
}

// --- pins, and the tables opened last

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-do=pin-table]") : null;
  if (!button) return;
  const { name } = button.dataset;
  const pins = cookie("pins").split(" ").filter(Boolean);
  const others = pins.filter((each) => each !== name);
  keep("pins", (others.length < pins.length ? others : [name, ...others].slice(0, MOST_PINS)).join(" "));
  button.dataset.pins = cookie("pins");
}, { capture: true });

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { shown = null; document.getElementById("lane-card")?.classList.remove("shown"); }
  if (event.key === " " && event.target instanceof Element && event.target.matches("a[role=checkbox]")) { event.preventDefault(); event.target.click(); }
});

document.addEventListener("pointerdown", down);
document.addEventListener("pointermove", move);
document.addEventListener("pointerup", up);
document.addEventListener("pointercancel", () => { drag?.band?.remove(); drag = null; });
window.addEventListener("resize", redraw);
new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

const lead = document.getElementById("lead");
new MutationObserver((changes) => {
  if (changes.some(({ target }) => target === lead || target.id === "home-facets")) begin();
}).observe(lead, { childList: true, subtree: true });
begin();
})();
