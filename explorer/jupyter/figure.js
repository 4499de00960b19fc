// Plotly's part of a figure, which a page asks for until it has it: it comes as a message, which no saved notebook keeps.

const LOADED = Symbol.for("delta-table-explorer.plotly");

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
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

// The page handles no message of a model before the model is made: waiting in `initialize` would wait for ever.
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
    render: async (context) => (await drawn).render(context),
  };
};
