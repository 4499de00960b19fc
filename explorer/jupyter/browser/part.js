// A model whose part is in the kit.
export default () => {
  let ready;
  return {
    initialize({ model }) {
      ready = kit.given.then((parts) => parts.PART(model));
    },
    render({ el }) {
      let undo;
      let gone = false;
      ready.then((draw) => gone || (undo = draw(el)));
      return () => {
        gone = true;
        undo?.();
      };
    },
  };
};
