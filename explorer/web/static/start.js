// A browser window as the host of a page: its address, its cookies, and the connection to its session.

const { page: folder } = document.querySelector("script[data-page]").dataset;
const { Page } = await import(new URL(`${folder}page.js`, document.baseURI)).catch((error) => {
  document.documentElement.dataset.silence = "unloaded";
  throw error;
});

// What a script of the page gives when it has run; the page is whole when all of them have, or cannot be loaded.
const loaded = (id, given) => new Promise((resolve, reject) => {
  const look = () => given() && resolve(given());
  const last = () => look() || reject(new Error(`the script ${id} was not loaded`));
  document.getElementById(id)?.addEventListener("load", look);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", last);
  else last();
  look();
});

const host = {
  root: document,
  element: document.documentElement,
  plotly: () => loaded("plotly", () => window.Plotly),
  // Messages before there is a connection: none; the page connects when there is one.
  send: (message) => host.model.send_msg(message),
  hear: (call) => host.model.on("msg:custom", call),
  query: () => location.search || "?",
  push(query, replace) {
    history[replace ? "replaceState" : "pushState"]({}, "", query);
    opened();
  },
  moved: (call) => window.addEventListener("popstate", call),
  link: (query) => `${location.origin}${location.pathname}${query === "?" ? "" : query}`,
  keep(name, value) {
    const secure = location.protocol === "https:" ? ";Secure" : "";
    document.cookie = `explorer-${name}=${value};path=${location.pathname};max-age=31536000;SameSite=Lax${secure}`;
  },
  remember(name, text) {
    if (text === null) sessionStorage.removeItem(`explorer ${name}`);
    else sessionStorage.setItem(`explorer ${name}`, text);
  },
  recall: (name) => sessionStorage.getItem(`explorer ${name}`) || "",
  // What outlives the window, for this address of a server alone. A browser may forbid it.
  note(name, text) {
    try { localStorage.setItem(`explorer ${name} ${location.pathname}`, text); } catch { /* it is then forgotten */ }
  },
  noted(name) {
    try { return localStorage.getItem(`explorer ${name} ${location.pathname}`) || ""; } catch { return ""; }
  },
  open: (query) => window.open(query, "_blank", "noopener"),
  size: () => ({ width: document.documentElement.clientWidth, height: window.innerHeight }),
  title: (text) => { document.title = text; },
  reload: () => location.reload(),
  leaves: (call) => window.addEventListener("pagehide", call),
};

// The tables opened last, for the list of all tables; names as addresses have them.
function opened() {
  const name = encodeURIComponent(new URLSearchParams(location.search).get("t") || "");
  if (!name) return;
  const [, before] = document.cookie.match(/(?:^|; )explorer-recent=([^;]*)/) || [];
  const others = decodeURIComponent(before || "").split(" ").filter((each) => each && each !== name);
  host.keep("recent", encodeURIComponent([name, ...others].slice(0, 8).join(" ")));
}
opened();

const figures = document.getElementById("figures");
const page = new Page(host, figures ? JSON.parse(figures.textContent) : {});

// The bridge is made when the socket is open, and perhaps before this script has run.
const connect = (model) => {
  host.model = model;
  page.connect();
  window.explorerPage = page;
  window.Bokeh.documents[0]?.on_event("connection_lost", () => page.silent("lost"));
};
const early = window.explorerHost?.early;
window.explorerHost = { connect };
if (early) connect(early);
