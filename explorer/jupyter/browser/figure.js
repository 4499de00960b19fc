// Plotly's part of a figure, which a page asks for until it has it: it comes as a message, which no saved notebook keeps.
// Until it is there, and where no kernel sends it, the figure's picture stands in its place.

const LOADED = Symbol.for("delta-table-explorer.plotly");

// A page gives each model two seconds to begin, and begins with none while it takes in plotly: it does that when idle,
// or at the latest when these are over, as a page with a long list may never be idle.
const idle = () => new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve, { timeout: 2500 }));

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
  await idle();
  return import(address).finally(() => URL.revokeObjectURL(address));
}

// What a page says to a figure before it listens is lost: a kernel may make it in one thread and hear in another.
function listening(model) {
  return new Promise((resolve) => {
    const look = () => {
      if (!model.get("listens")) return;
      model.off("change:listens", look);
      resolve();
    };
    model.on("change:listens", look);
    look();
  });
}

// A kernel that is busy answers when it is free. What the answer is made into is made before the next message is heard.
function answered(model, kind, take) {
  return new Promise((resolve) => {
    const hear = (message, buffers) => {
      if (message?.kind !== kind) return;
      model.off("msg:custom", hear);
      resolve(take(message, buffers));
    };
    model.on("msg:custom", hear);
    model.send({ kind });
  });
}

function plotly(model) {
  if (globalThis[LOADED]) return globalThis[LOADED];
  return answered(model, "plotly", (_, [packed]) => (globalThis[LOADED] ??= unpacked(packed)));
}

// What is drawn is asked for when plotly can hear what changes of it: colours, for one, which follow the page's theme.
function begun(model, figure) {
  return answered(model, "drawn", ({ drawn, paths }, buffers) => {
    paths.forEach((path, number) => {
      const holder = path.slice(0, -1).reduce((part, key) => part[key], drawn);
      holder[path.at(-1)] = buffers[number];
    });
    const [made, its] = [figure(), seen(model, drawn)];
    made.initialize({ model: its });
    return (el) => made.render({ model: its, el });
  });
}

// The model as plotly's part sees it: what is drawn is none of its state, so that no saved notebook keeps it. Nor does
// one keep the layout as the page worked it out, which plotly sets under a name that the kernel does not listen to.
const seen = (model, drawn) => ({
  get: (name) => (name in drawn ? drawn[name] : model.get(name)),
  set: (name, value) => name === "_js2py_widget_layoutDelta" || model.set(name, value),
  on: (name, hear) => model.on(name, hear),
  off: (name, hear) => model.off(name, hear),
  save_changes: () => model.save_changes(),
});

export const figure = (model) => {
  const ready = listening(model).then(() => plotly(model)).then(({ default: figure }) => begun(model, figure));
  return (el) => {
    let undo = () => {};
    let shown = true;
    const picture = () => (el.innerHTML = model.get("picture"));
    el.style.minHeight = `${model.get("height")}px`;
    picture();
    model.on("change:picture", picture);
    ready.then((draw) => {
      model.off("change:picture", picture);
      if (!shown) return;
      el.replaceChildren();
      el.style.minHeight = "";
      undo = draw(el);
    });
    return () => {
      shown = false;
      model.off("change:picture", picture);
      undo();
    };
  };
};
