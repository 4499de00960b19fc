// What a person takes along from a page: a chart as a picture, and the page as one file. Both are made in the browser
// from what it shows, and nothing is fetched. SVG carries its styles as attributes; PNG is that SVG, drawn twice as large.

const SCALE = 2;
const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "display", "visibility",
];
const MOST_PICTURE = 16_384; // px on a side that a canvas can have
const DEAD = "script, style, link, template, dialog, .sr, .skip, .menu:has(> .icon), .menu:has(> .button), .menu > .pop, button.icon, button.button, .pick, #toast, #spoken, #busy, .silence, [hidden], .off, iframe, object";

// A drawing of the page's own as SVG text, with the styles that it has on the page.
export function svgText(drawing, ground) {
  const copy = drawing.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [drawing, ...drawing.querySelectorAll("*")].forEach((element, place) => {
    const styles = getComputedStyle(element);
    for (const name of STYLES) copies[place].setAttribute(name, styles.getPropertyValue(name));
    copies[place].removeAttribute("class");
  });
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: ground })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

// A figure of plotly as SVG text, on the page's ground: on its own it has none.
export async function figureText(plotly, plot, ground) {
  const { width, height } = plot._fullLayout;
  // Elsewhere the letters can be wider: a note with a size would be cut to the one that it has here.
  const annotations = (plot.layout.annotations || []).map(({ width: _width, height: _height, ...note }) => note);
  const layout = { ...plot.layout, annotations, paper_bgcolor: ground, width, height };
  const address = await plotly.toImage({ data: plot.data, layout }, { format: "svg", width, height });
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}

// The SVG as PNG. Its address is data, which the page's policy allows; one of a blob it would not.
export async function pngOf(text) {
  const image = new Image();
  image.src = addressOf(text);
  await image.decode();
  const scale = Math.min(SCALE, MOST_PICTURE / Math.max(image.width, image.height, 1));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((found) => canvas.toBlob(found, "image/png"));
}

function addressOf(text) {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// The page as one HTML file without scripts, which asks for nothing: its policy lets it load no address at all. Figures
// are pictures in it, and links lead to this page's own program.
export async function pageFile(host, title, pictures) {
  const { root } = host;
  const body = document.createElement("body");
  for (const id of ["bar", "ambient", "main"]) {
    const part = root.getElementById(id);
    if (part) body.append(copyOf(part));
  }
  for (const [id, text] of pictures) {
    const image = document.createElement("img");
    image.alt = id === "strip-figure" ? "Timeline of the versions" : "Chart";
    image.src = addressOf(text);
    body.querySelector(`#${id}`)?.replaceChildren(image);
  }
  for (const element of body.querySelectorAll(DEAD)) element.remove();
  for (const element of body.querySelectorAll("*")) plainElement(element, host);
  const made = document.implementation.createHTMLDocument(title);
  made.documentElement.dataset.theme = host.element.dataset.theme || "light";
  made.documentElement.lang = "en";
  const policy = made.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  const sheet = made.createElement("style");
  sheet.textContent = `${rulesOf(root)}\n#ambient{position:static}#strip-figure img,#chart-figure img{max-width:100%}`;
  const letters = made.createElement("meta");
  letters.setAttribute("charset", "utf-8");
  made.head.prepend(letters, policy);
  made.head.append(sheet);
  made.body.replaceWith(body);
  const note = made.createElement("p");
  note.className = "muted small saved";
  note.style.padding = "0 16px 16px";
  note.textContent = `Saved on ${new Date().toISOString()} from ${host.link(host.query())}`;
  body.append(note);
  return `<!doctype html>\n${made.documentElement.outerHTML}`;
}

// A copy with what a person typed or chose; a field of a copy has only what the page came with.
function copyOf(part) {
  const copy = part.cloneNode(true);
  const fields = copy.querySelectorAll("input, textarea, select");
  part.querySelectorAll("input, textarea, select").forEach((field, place) => {
    const shown = document.createElement("span");
    shown.className = "field-value";
    shown.textContent = field.type === "hidden" || field.type === "password" ? "" : field.value;
    fields[place].replaceWith(shown);
  });
  return copy;
}

function plainElement(element, host) {
  for (const { name } of [...element.attributes]) {
    if (name.startsWith("on") || (name.startsWith("data-") && name !== "data-theme") || name === "action") element.removeAttribute(name);
  }
  if (element.matches("button, form")) {
    const span = element.ownerDocument.createElement(element.matches("form") ? "div" : "span");
    span.className = element.className;
    span.append(...element.childNodes);
    element.replaceWith(span);
  }
  const address = element.getAttribute("href");
  if (address?.startsWith("?")) element.setAttribute("href", host.link(address));
  else if (address && !address.startsWith("#") && !/^https?:/.test(address)) element.removeAttribute("href");
}

// The rules of all sheets, without what they would fetch.
function rulesOf(root) {
  const own = [...(root.styleSheets || []), ...(root.adoptedStyleSheets || [])];
  const rules = own.flatMap((sheet) => {
    try {
      return [...sheet.cssRules];
    } catch {
      return []; // a sheet of another origin is none of the page's
    }
  });
  const texts = rules.map((rule) => rule.cssText);
  return texts.filter((text) => !/url\(|@import|@font-face/i.test(text)).join("\n").replaceAll("</", "<\\/");
}
