// Plotly's part of a figure, which a page asks for until it has it: it comes as a message, which no saved notebook keeps.
// Until it is there, and where no kernel sends it, the figure's picture stands in its place.

const LOADED = Symbol.for("delta-table-explorer.plotly");

// A page gives each model two seconds to begin, and begins with none while it takes in plotly: it does that when idle.
const idle = () => new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve));

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
  await idle();
  return import(address).finally(() => URL.revokeObjectURL(address));
}

// A kernel that is busy answers when it is free.
function plotly(model) {
  return new Promise((resolve) => {
    const hear = (message, [packed]) => {
      if (message?.kind !== "plotly") return;
      model.off("msg:custom", hear);
      globalThis[LOADED] ??= unpacked(packed);
      resolve(globalThis[LOADED]);
    };
    model.on("msg:custom", hear);
    model.send({ kind: "plotly", wanted: !globalThis[LOADED] });
  });
}

// The page handles no message of a model before the model is made: waiting in `initialize` would wait for ever. It shows
// no view before `render` has returned.
export default () => {
  let drawn;
  return {
    initialize({ model }) {
      drawn = plotly(model).then(({ default: figure }) => {
        const made = figure();
        made.initialize({ model });
        return made;
      });
    },
    render(context) {
      const { model, el } = context;
      let undo = () => {};
      let shown = true;
      const picture = () => (el.innerHTML = model.get("picture"));
      el.style.minHeight = `${model.get("_widget_layout")?.height ?? 0}px`;
      picture();
      model.on("change:picture", picture);
      drawn.then((figure) => {
        model.off("change:picture", picture);
        if (!shown) return;
        el.replaceChildren();
        el.style.minHeight = "";
        undo = figure.render(context);
      });
      return () => {
        shown = false;
        model.off("change:picture", picture);
        undo();
      };
    },
  };
};
