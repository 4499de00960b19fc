// The page's first script: it runs before anything is drawn. The page's Content-Security-Policy reads no style in markup,
// and no style sheet without the page's nonce. What is drawn here keeps its ways to be styled:
//
// - A style element that a script makes (Bokeh's for its shadow roots, plotly's for its notes) gets the nonce. One in
//   markup, which may be injected, does not come this way.
// - A style that a script sets as an attribute (plotly's for its text) is set as properties, which the policy allows.
// - data-style="width:12%" in this program's own markup sets that property, if it is one of those below. While the page
//   is read an observer sees to it, before the browser draws; later page.js does, when it puts markup in its place.

(() => {
const NONCE = document.currentScript.nonce;
const PROPERTIES = new Set(["background-color", "flex-grow", "height", "left", "min-height", "padding-left", "width"]);
const VALUE = /^[#\w.%-]+$/;

const createElement = Document.prototype.createElement;
Document.prototype.createElement = function (...given) {
  const element = createElement.apply(this, given);
  if (NONCE && element instanceof HTMLStyleElement) element.nonce = NONCE;
  return element;
};

const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (this.style && String(name).toLowerCase() === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

window.explorerStyled = (root) => {
  for (const element of root.querySelectorAll("[data-style]")) {
    const [property, value] = element.dataset.style.split(":");
    if (PROPERTIES.has(property) && VALUE.test(value)) element.style.setProperty(property, value);
  }
};

const reading = new MutationObserver(() => window.explorerStyled(document));
reading.observe(document, { childList: true, subtree: true });
document.addEventListener("DOMContentLoaded", () => {
  reading.disconnect();
  window.explorerStyled(document);
});

// Behind a proxy the pages have a path of their own, and may be reached through TLS.
const rest = `;path=${location.pathname};max-age=31536000;SameSite=Lax${location.protocol === "https:" ? ";Secure" : ""}`;
document.cookie = `explorer-screen=${document.documentElement.clientWidth}x${innerHeight}${rest}`;
// A visit ends after four hours without a page; what came since then is new at the next one.
const looked = Number((document.cookie.match(/(?:^|; )explorer-looked=(\d+)/) || [])[1]);
if (looked && Date.now() - looked > 4 * 3600e3) document.cookie = `explorer-since=${looked}${rest}`;
})();
