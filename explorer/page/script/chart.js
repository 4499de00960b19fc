// The chart of a tab: drawn from what the program sends, as wide as its place. A click on a mark that stands for a column
// or a file chooses it; the figure says which of the two its marks are.

const CHART = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false };
const LEADING = 3; // px by which a line's box is taller than its letters
const PAPER = 960; // px that a figure may take on a printed page

export class Chart {
  constructor(host) {
    this.host = host;
    this.page = null;
    this.slot = host.root.getElementById("chart-slot");
    this.place = host.root.getElementById("chart-figure");
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.slot);
  }

  close() {
    this.closed = true;
    this.sizes.disconnect();
    if (this.plotly && this.layout) this.plotly.purge(this.place);
  }

  // What is sent before plotly is there is drawn when it is; of several the last one.
  async show(figure) {
    this.next = figure.data ? figure : { ...(this.next || this.figure), shapes: figure.shapes };
    try {
      this.plotly = this.plotly || (await this.host.plotly());
    } catch {
      this.host.element.dataset.figures = "unloaded";
      return;
    }
    const next = this.next;
    this.next = null;
    if (!next || this.closed) return;
    if (!figure.data && this.layout) {
      this.figure = next;
      this.plotly.relayout(this.place, { shapes: figure.shapes });
      return;
    }
    this.draw(next);
  }

  draw(figure) {
    const first = !this.layout;
    this.figure = figure;
    this.layout = figure.layout;
    const shapes = figure.shapes || figure.layout.shapes || [];
    this.slot.style.minHeight = `${figure.layout.height}px`;
    this.plotly.react(this.place, figure.data, { ...figure.layout, shapes, width: this.width() }, CHART);
    this.place.dataset.drawn = String(Number(this.place.dataset.drawn || 0) + 1);
    if (first) {
      this.place.on("plotly_click", (event) => this.chosen(event.points[0]));
      this.place.on("plotly_afterplot", () => this.label());
    }
    this.label();
  }

  width() {
    return this.slot.clientWidth || this.layout.width || 700;
  }

  // A figure that is drawn while its place is hidden is fitted when it appears. On paper its place is measured in pixels
  // that are made smaller themselves.
  fit() {
    if (window.matchMedia("print").matches) return;
    const { clientWidth: width } = this.slot;
    // On paper a figure is made smaller as a whole: plotly does not draw it again for the page.
    if (width) this.slot.style.setProperty("--print-zoom", Math.min(1, PAPER / width).toFixed(3));
    const drawn = this.place._fullLayout;
    if (width && drawn && Math.abs(drawn.width - width) > 1) this.plotly.relayout(this.place, { width });
  }

  // Where labels would lie on each other, what is said beside a name goes first, then the later label.
  label() {
    const labels = [...this.place.querySelectorAll(".annotation-text")];
    const beside = (label) => [...label.querySelectorAll("tspan[style*=fill]")];
    for (const label of labels) for (const part of [label, ...beside(label)]) part.style.display = "";
    const common = (one, other, first, last) => Math.min(one[last], other[last]) - Math.max(one[first], other[first]);
    const meets = (one, other) => common(one, other, "left", "right") > 1 && common(one, other, "top", "bottom") > LEADING;
    const boxes = labels.map((label) => label.getBoundingClientRect());
    const met = labels.filter((label, at) => boxes.some((box, other) => other !== at && meets(box, boxes[at])));
    for (const label of met) for (const part of beside(label)) part.style.display = "none";
    const shown = labels.filter((label) => !met.includes(label)).map((label) => label.getBoundingClientRect());
    for (const label of met) {
      const box = label.getBoundingClientRect();
      if (shown.some((other) => meets(box, other))) label.style.display = "none";
      else shown.push(box);
    }
  }

  chosen(point) {
    const key = this.layout.meta?.chooses;
    if (!this.page || !key || typeof point?.customdata !== "string") return;
    this.page.set({ [key]: decodeURIComponent(point.customdata) });
  }
}
