// Plotly's part of a figure, which a page asks for once: it comes as a message, which no saved notebook keeps.

const LOADED = Symbol.for("delta-table-explorer.plotly");
const PATIENCE = 30_000;

function ask(model) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("The kernel does not answer: the figure cannot be drawn.")), PATIENCE);
    const hear = async (message, [packed]) => {
      if (message?.kind !== "plotly") return;
      clearTimeout(late);
      model.off("msg:custom", hear);
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const address = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
      import(address).then(resolve, reject).finally(() => URL.revokeObjectURL(address));
    };
    model.on("msg:custom", hear);
    model.send({ kind: "plotly" });
  });
}

function plotly(model) {
  globalThis[LOADED] ??= ask(model).catch((error) => {
    globalThis[LOADED] = undefined;
    throw error;
  });
  return globalThis[LOADED];
}

export default async () => {
  let drawn;
  return {
    async initialize(context) {
      const { default: figure } = await plotly(context.model);
      drawn = figure();
      drawn.initialize(context);
    },
    render: (context) => drawn.render(context),
  };
};
