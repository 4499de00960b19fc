// A widget whose script is in the kit: it waits for the kit, and says so if none comes.
const kit = (globalThis[Symbol.for("delta-table-explorer DIGEST")] ??= (() => {
  let give;
  return { given: new Promise((resolve) => (give = resolve)), give };
})());

export default () => ({
  render({ model, el }) {
    let undo;
    let gone = false;
    const late = setTimeout(() => { el.textContent = "The scripts of the widget were not loaded. Run this cell again."; }, 10_000);
    kit.given.then((parts) => {
      clearTimeout(late);
      if (gone) return;
      el.textContent = "";
      undo = parts.widget(model, parts)(el);
    });
    return () => {
      gone = true;
      clearTimeout(late);
      undo?.();
    };
  },
});
