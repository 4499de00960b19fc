// A widget whose style and scripts come from the kernel, once for a page. Until then it says what it waits for.
const SOON = 4_000; // ms without an answer until the widget says so
const WORDS = {
  awaited: "The page comes when the kernel is free.",
  late: "No kernel has answered yet. It may be running a cell. If none runs, run this cell again.",
  lost: "No kernel answers. Run the cell to use the widget.",
};
const kit = (globalThis[Symbol.for("delta-table-explorer DIGEST")] ??= (() => {
  let give;
  return { given: new Promise((resolve) => (give = resolve)), give };
})());

async function loaded(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { rules, script } = await new Response(stream).json();
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  try {
    return { sheet, ...(await import(address)) };
  } finally {
    URL.revokeObjectURL(address);
  }
}

export default () => ({
  render({ model, el }) {
    let undo, gone;
    // A notebook may give the same element to the next run of a cell.
    const place = document.createElement("div");
    el.replaceChildren(place);
    const say = (text) => { place.textContent = text; };
    const hear = (message, buffers) => {
      if (message?.kind === "kit") loaded(buffers[0]).then(kit.give, ({ message: why }) => rest(`The widget cannot be shown here: ${why}`));
    };
    const late = setTimeout(say, SOON, WORDS.late);
    const rest = (text) => {
      clearTimeout(late);
      model.off("msg:custom", hear);
      say(text);
    };
    kit.given.then(({ sheet, widget }) => {
      if (gone) return;
      rest("");
      undo = widget(model, place, sheet, { SOON, ...WORDS });
    });
    say(WORDS.awaited);
    model.on("msg:custom", hear);
    try {
      model.send({ kind: "kit", view: "kit" });
    } catch {
      rest(WORDS.lost);
    }
    return () => {
      gone = true;
      rest("");
      undo?.();
      place.remove();
    };
  },
});
