// data-style="width:12%" in the page's markup becomes that property, if the list below has it: a page may be shown where
// style attributes in markup are not allowed. The page's script applies it whenever it replaces a region.
globalThis.explorerStyled = (() => {
  const PROPERTIES = new Set(["background-color", "flex-grow", "height", "left", "min-height", "padding-left", "width"]);
  const VALUE = /^[#\w.%-]+$/;
  return (root) => {
    for (const element of root.querySelectorAll("[data-style]")) {
      const [property, value] = element.dataset.style.split(":");
      if (PROPERTIES.has(property) && VALUE.test(value)) element.style.setProperty(property, value);
    }
  };
})();
