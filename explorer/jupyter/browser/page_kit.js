// Unpack the style sheet and the scripts, and give them to whoever waits.
async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function imported(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return import(address).finally(() => URL.revokeObjectURL(address));
}

export default () => {
  let held;
  return {
    initialize({ model }) {
      held = unpacked(model.get("packed"));
      kit.give(held.then(({ script }) => imported(script)));
    },
    render({ el }) {
      const style = document.createElement("style");
      el.append(style);
      held.then(({ rules }) => (style.textContent = rules));
    },
  };
};
