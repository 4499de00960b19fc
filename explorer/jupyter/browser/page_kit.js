// The style sheet and the scripts of all widgets in one model. Its part in the page gives them to the widgets that wait.
const kit = (globalThis[Symbol.for("delta-table-explorer DIGEST")] ??= (() => {
  let give;
  return { given: new Promise((resolve) => (give = resolve)), give };
})());

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function imported(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return import(address).finally(() => URL.revokeObjectURL(address));
}

export default () => ({
  async initialize({ model }) {
    const { rules, script } = await unpacked(model.get("packed"));
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    kit.give({ sheet, ...(await imported(script)) });
  },
  render() {},
});
