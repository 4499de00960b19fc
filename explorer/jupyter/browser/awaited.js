// The kit of a page, which the parts of the widgets wait for: whoever comes first makes the place for it.
const kit = (globalThis[Symbol.for("delta-table-explorer DIGEST")] ??= (() => {
  let give;
  return { given: new Promise((resolve) => (give = resolve)), give };
})());
