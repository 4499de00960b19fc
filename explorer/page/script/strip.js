// The strip's figure: drawn here from what the program sends, always as wide as its place; pointer and wheel become
// addresses. Zooming and panning move the axis at once; the program then draws the new window. It is drawn as soon as
// plotly is there, and waits for no connection; the page joins it when it is there.

const PLOT = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false, showTips: false };
const PRINTED = 960;        // px of a printed page
const SETTLED = 180;        // ms after the last turn of the wheel until the server draws the window
const TWICE = 400;          // ms between the clicks of a double click
const GRIP = 7;             // px around an edge of the brush
const LEAST_VERSIONS = 12;
const TAG = "tag";          // the name of the notes that are drawn here

// Where a place is in one of two ascending lists, and what is there in the other.
function between(place, from, to) {
  let low = 0;
  let high = from.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (from[middle] <= place) low = middle;
    else high = middle;
  }
  const share = from[high] > from[low] ? (place - from[low]) / (from[high] - from[low]) : 0;
  return to[low] + Math.max(0, Math.min(1, share)) * (to[high] - to[low]);
}

export class Strip {
  constructor(host, signal) {
    this.host = host;
    this.signal = signal;
    this.page = null;
    this.slot = host.root.getElementById("timeline-slot");
    this.place = host.root.getElementById("strip-figure");
    this.ends = {};
    this.window = null;
    this.awaited = [];
    this.reported = this.sizeOfWindow();
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.slot);
    window.addEventListener("resize", () => this.fit(), { signal });
    window.matchMedia("print").addEventListener("change", (paper) => this.print(paper.matches), { signal });
    window.addEventListener("beforeprint", () => this.print(true), { signal });
    window.addEventListener("afterprint", () => this.print(false), { signal });
    signal.addEventListener("abort", () => this.close());
    this.listen();
    host.plotly().then((plotly) => {
      this.plotly = plotly;
      for (const figure of this.awaited.splice(0)) this.show(figure);
    }, () => {
      this.awaited = null;
      host.element.dataset.figures = "unloaded"; // the still picture stays
    });
  }

  // What the wheel or another size of the window began waits for a figure and a page that are gone then.
  close() {
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
    for (const timer of [this.turning, this.telling]) window.clearTimeout(timer);
    if (this.layout) this.plotly.purge(this.place);
  }

  // --- drawing

  show(figure) {
    if (this.signal.aborted) return;
    if (!this.plotly) {
      this.awaited?.push(figure);
      return;
    }
    if (figure.ends) this.ends = figure.ends;
    const { shapes, brush } = this.ends;
    const annotations = this.ends.annotations.filter((note) => note.name !== TAG);
    const noted = JSON.stringify(annotations);
    this.brush = brush || [];
    this.window = null;
    this.slot.classList.remove("dragging");
    if (!figure.data) {
      if (!this.layout) return;
      // All marks are drawn anew when the axis or a note is set: only where a drag or the wheel has moved it, or it
      // differs. The numbers of the two versions, which differ at each step, are no notes.
      const moved = this.place._fullLayout?.xaxis.range.some((end, place) => end !== this.range[place]);
      const notes = noted !== this.noted && { annotations };
      this.noted = noted;
      this.plotly.relayout(this.place, { shapes, ...notes, ...(moved && { "xaxis.range": [...this.range] }) });
      this.tag();
      return;
    }
    this.noted = noted;
    this.layout = figure.layout;
    this.meta = figure.layout.meta;
    this.range = figure.layout.xaxis.range;
    this.drawn = figure.layout.width;
    this.slot.style.height = `${figure.layout.height}px`;
    this.slot.classList.toggle("zoomable", Boolean(this.meta.whole));
    this.plotly.react(this.place, figure.data, { ...figure.layout, shapes, annotations, width: this.width() }, PLOT);
    this.place.dataset.drawn = String(Number(this.place.dataset.drawn || 0) + 1);
    this.tag();
  }

  // The numbers of the two versions, above the drawing and at their share of its width.
  tag() {
    const { l, r, t } = this.place._fullLayout._size;
    for (const tag of this.place.querySelectorAll(".version-tag")) tag.remove();
    for (const { name, x, yshift, text, bgcolor, bordercolor, font } of this.ends.annotations) {
      if (name !== TAG) continue;
      const tag = document.createElement("i");
      tag.className = "version-tag";
      tag.textContent = text.replace(/<\/?b>/g, "");
      tag.classList.toggle("chosen", tag.textContent !== text);
      Object.assign(tag.style, {
        left: `calc(${l}px + (100% - ${l + r}px) * ${x})`, top: `${t - yshift}px`,
        color: font.color, background: bgcolor, borderColor: bordercolor,
      });
      this.place.append(tag);
    }
  }

  width() {
    if (this.printing) return PRINTED;
    const style = getComputedStyle(this.slot);
    const inner = this.slot.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return inner > 0 ? inner : this.drawn;
  }

  // The drawing follows its place at once; the server draws it anew for a width at which labels and ticks differ.
  fit() {
    if (this.printing) return;
    this.size(this.width());
    const size = this.sizeOfWindow();
    if (size === this.reported || !this.page) return;
    window.clearTimeout(this.telling);
    this.telling = window.setTimeout(() => {
      this.reported = size;
      this.host.keep("screen", size);
      this.page.ask("screen", this.host.size());
    }, SETTLED);
  }

  print(begins) {
    this.printing = begins;
    if (begins) this.size(this.width());
    else this.fit();
  }

  sizeOfWindow() {
    const { width, height } = this.host.size();
    return `${width}x${height}`;
  }

  size(width) {
    if (!this.layout || !this.place._fullLayout || !(width > 0)) return;
    if (Math.abs(this.place._fullLayout.width - width) > 0.5) this.plotly.relayout(this.place, { width });
  }

  // --- places

  // Where an event is: a version, or null beside the axis; and whether it is on the overview of the whole history.
  at(event) {
    const layout = this.place._fullLayout;
    if (!layout || !this.meta) return null;
    const box = this.place.getBoundingClientRect();
    const x = event.clientX - box.left - layout._size.l;
    const y = event.clientY - box.top;
    const overview = Boolean(this.meta.whole) && y >= this.meta.bottom - 3;
    const axis = overview ? layout.xaxis2 : layout.xaxis;
    return { x, overview, inside: x >= -2 && x <= layout._size.w + 2, place: axis.p2d(x), perPixel: Math.abs(axis.p2d(1) - axis.p2d(0)) };
  }

  version(spot) {
    if (!spot?.inside) return null;
    const { alone, alonePlaces, ends, middles, range } = this.meta;
    if (spot.place < range[0]) return null;
    const lonely = alonePlaces.findIndex((place) => Math.abs(place - spot.place) <= 4 * spot.perPixel);
    if (lonely >= 0) return alone[lonely];
    const far = middles.map((middle) => Math.abs(middle - spot.place));
    return ends[far.indexOf(Math.min(...far))];
  }

  // --- windows, in units of the axis: versions or ms

  placeOf(version) {
    return this.meta.times ? between(version, this.meta.versions, this.meta.times) : version;
  }

  versionOf(place) {
    return this.meta.times ? between(place, this.meta.times, this.meta.versions) : place;
  }

  shown() {
    return this.window || [this.meta.first, this.meta.last].map((version) => this.placeOf(version));
  }

  whole() {
    return this.meta.whole.map((version) => this.placeOf(version));
  }

  // The least that a window covers; of time it is small, as the server widens it to as many versions.
  least() {
    const [first, last] = this.whole();
    return this.meta.times ? (last - first) / 5_000 : LEAST_VERSIONS - 1;
  }

  clamp(first, last) {
    const [least, most] = this.whole();
    const span = Math.min(Math.max(last - first, this.least()), most - least);
    const start = Math.max(least, Math.min(first, most - span));
    return [start, start + span];
  }

  // Show a window at once, by moving the axis and the brush of what is drawn.
  preview(first, last) {
    this.window = this.clamp(first, last);
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.window) return;
      const half = this.meta.times ? 0 : 0.5;
      const [from, to] = [this.window[0] - half, this.window[1] + half];
      const moved = { "xaxis.range": [from, to] };
      if (this.brush.length) {
        const [box, left, right] = this.brush;
        Object.assign(moved, { [`shapes[${box}].x0`]: from, [`shapes[${box}].x1`]: to, [`shapes[${left}].xanchor`]: from, [`shapes[${right}].xanchor`]: to });
      }
      this.plotly.relayout(this.place, moved);
    });
  }

  settle() {
    if (!this.window) return;
    const [first, last] = this.window.map((place) => Math.round(this.versionOf(place)));
    const [least, most] = this.meta.whole;
    const zoom = first <= least && last >= most ? null : `${first}-${last}`;
    if (!this.page.set({ zoom }, true)) this.show({ ends: this.ends });
  }

  all() {
    if (!this.meta?.whole || !this.page) return;
    this.window = this.whole();
    this.settle();
  }

  // --- pointer and wheel

  listen() {
    this.slot.addEventListener("pointerdown", (event) => this.down(event), true);
    // Plotly lays a cover over the page while a button is down, so the rest is heard of by the window alone.
    window.addEventListener("pointermove", (event) => this.move(event), { capture: true, signal: this.signal });
    window.addEventListener("pointerup", (event) => this.up(event), { capture: true, signal: this.signal });
    window.addEventListener("pointercancel", () => this.cancel(), { capture: true, signal: this.signal });
    this.slot.addEventListener("wheel", (event) => this.wheel(event), { passive: false, capture: true });
  }

  down(event) {
    const spot = this.at(event);
    if (event.button !== 0 || !spot?.inside || !this.page) return;
    const [first, last] = this.shown();
    let kind = "compare";
    if (spot.overview) {
      const near = (place) => Math.abs(spot.place - place) < GRIP * spot.perPixel;
      kind = near(this.meta.times ? first : first - 0.5) ? "left" : near(this.meta.times ? last : last + 0.5) ? "right" : spot.place > first && spot.place < last ? "carry" : "brush";
    } else if (this.meta.whole && !event.shiftKey) {
      const [least, most] = this.whole();
      kind = first > least || last < most ? "pan" : "brush";
    }
    this.drag = { kind, from: spot, first, last, version: this.version(spot), far: false, shift: event.shiftKey };
  }

  move(event) {
    const drag = this.drag;
    if (!drag) return;
    const spot = this.at(event);
    const by = (spot.x - drag.from.x) * drag.from.perPixel;
    drag.far = drag.far || Math.abs(spot.x - drag.from.x) > 4;
    if (!drag.far) return;
    this.slot.classList.add("dragging");
    const place = drag.from.place + by;
    if (drag.kind === "pan") this.preview(drag.first - by, drag.last - by);
    else if (drag.kind === "carry") this.preview(drag.first + by, drag.last + by);
    else if (drag.kind === "left") this.preview(Math.min(place, drag.last - this.least()), drag.last);
    else if (drag.kind === "right") this.preview(drag.first, Math.max(place, drag.first + this.least()));
    else this.rubber(drag, spot);
  }

  // A range that is being chosen, as a band over the drawing.
  rubber(drag, spot) {
    if (!this.band) {
      this.band = document.createElement("i");
      this.band.className = "rubber";
      this.place.append(this.band);
    }
    const left = this.place._fullLayout._size.l;
    const [from, to] = [drag.from.x, spot.x].sort((one, other) => one - other);
    this.band.style.cssText = `left:${left + from}px;width:${to - from}px;` + (drag.from.overview ? `top:${this.meta.bottom}px;bottom:0` : "top:0;bottom:0");
  }

  up(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    this.band?.remove();
    this.band = null;
    const spot = this.at(event);
    // Plotly's cover takes the second click of two, so their times tell them apart.
    const twice = !drag.far && !drag.from.overview && event.timeStamp - (this.clicked || 0) < TWICE;
    this.clicked = drag.far ? 0 : event.timeStamp;
    if (twice && this.meta.whole) return this.all();
    if (!drag.far) return drag.from.overview ? this.centre(drag.from.place) : this.choose(drag.version, drag.shift);
    this.slot.classList.remove("dragging");
    if (drag.kind === "compare") {
      const end = this.version(spot);
      if (end !== null && drag.version !== null && end !== drag.version) this.page.choose(end, drag.version);
    } else if (drag.kind === "brush") {
      const [from, to] = [drag.from.place, drag.from.place + (spot.x - drag.from.x) * drag.from.perPixel].sort((one, other) => one - other);
      this.window = this.meta.times ? this.clamp(from, to) : this.clamp(Math.ceil(from), Math.floor(to));
      this.settle();
    } else this.settle();
  }

  // The browser takes the pointer for itself, to scroll say: what was dragged stays where it was.
  cancel() {
    if (!this.drag) return;
    const { first, last } = this.drag;
    this.drag = null;
    this.band?.remove();
    this.band = null;
    this.slot.classList.remove("dragging");
    if (this.meta.whole) this.preview(first, last);
  }

  choose(version, shift) {
    if (version === null) return;
    if (shift) this.page.choose(null, version);
    else this.page.choose(version, null);
  }

  centre(place) {
    const [first, last] = this.shown();
    const half = (last - first) / 2;
    this.window = this.clamp(place - half, place + half);
    this.settle();
  }

  wheel(event) {
    const spot = this.at(event);
    if (!this.meta?.whole || !spot?.inside || !this.page || event.ctrlKey) return;
    const [first, last] = this.shown();
    const [least, most] = this.whole();
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && event.deltaY > 0 && first <= least && last >= most) return;
    event.preventDefault();
    event.stopPropagation();
    if (sideways) {
      const by = event.deltaX * (last - first) / 1200;
      this.preview(first + by, last + by);
    } else {
      const factor = Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 400)));
      const at = spot.overview ? (first + last) / 2 : first + (last - first) * Math.max(0, Math.min(1, spot.x / this.place._fullLayout._size.w));
      this.preview(at - (at - first) * factor, at + (last - at) * factor);
    }
    window.clearTimeout(this.turning);
    this.turning = window.setTimeout(() => this.settle(), SETTLED);
  }
}
