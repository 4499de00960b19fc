// The page's first script: it runs before anything is drawn. The page's Content-Security-Policy lets no markup carry a
// style, and no style sheet be read that lacks the nonce of the page. What draws here with scripts keeps its ways:
//
// - a style element that a script makes (Bokeh's for its shadow roots, plotly's for its notes) gets the nonce. One that
//   markup makes, which may be injected, does not come this way.
// - a style that a script sets as an attribute (plotly's for its text) is set as a property, which the policy allows.
// - data-style="width:12%" in markup of this program becomes that property, of those that are listed here, before the
//   browser draws: while the page is read by an observer, later by whoever puts markup in (see page.js).

(() => {
const NONCE = document.currentScript.nonce;
const STYLED = new Set([
  "background", "flex-grow", "height", "left", "min-height", "padding-left", "width",
]);

const createElement = Document.prototype.createElement;
Document.prototype.createElement = function (...named) {
  const element = createElement.apply(this, named);
  if (NONCE && element instanceof HTMLStyleElement) element.nonce = NONCE;
  return element;
};

const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (this.style && String(name).toLowerCase() === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

function styled(root) {
  for (const element of root.querySelectorAll("[data-style]")) {
    const [property, value] = element.dataset.style.split(":");
    if (STYLED.has(property)) element.style.setProperty(property, value);
  }
}

// The elements that come before a part of the page is drawn; what is read at one go is drawn after this.
const reading = new MutationObserver(() => styled(document));
reading.observe(document, { childList: true, subtree: true });
document.addEventListener("DOMContentLoaded", () => {
  styled(document);
  reading.disconnect();
});
window.explorerStyled = styled;

document.cookie = `explorer-screen=${document.documentElement.clientWidth}x${innerHeight};path=/;max-age=31536000;SameSite=Lax`;
// A visit ends after four hours without a page; what came since then is new at the next one.
const looked = Number((document.cookie.match(/(?:^|; )explorer-looked=(\d+)/) || [])[1]);
if (looked && Date.now() - looked > 4 * 3600e3) document.cookie = `explorer-since=${looked};path=/;max-age=31536000;SameSite=Lax`;
})();
