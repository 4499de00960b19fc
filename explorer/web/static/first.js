// The first script of a page runs before anything is drawn. The page's Content-Security-Policy blocks style attributes in
// markup, and style elements without the page's nonce. This script keeps three ways to style open:
//
// - A style element that a script creates gets the nonce: Bokeh does so for shadow roots, plotly for its page. Elements in
//   markup, which could be injected, do not pass through createElement.
// - A style attribute that a script sets becomes CSS properties, which the policy allows: plotly does so for its text.
// - data-style="width:12%" in the program's markup becomes that property (styled.js). An observer applies it while the
//   page loads, before the browser draws; page.js applies it whenever it replaces a region.

(() => {
const NONCE = document.currentScript.nonce;
const createElement = Document.prototype.createElement;
Document.prototype.createElement = function (...given) {
  const element = createElement.apply(this, given);
  if (NONCE && element instanceof HTMLStyleElement) element.nonce = NONCE;
  return element;
};

const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style" && this.style) this.style.cssText = value;
  else setAttribute.call(this, name, value);
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
