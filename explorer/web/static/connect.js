// The last script of a page opens the connection to its session.

window.explorerHost ??= { connect(model) { this.early = model; } };
// Panel loads the page's component with a module loader for old browsers. This replaces the loader with the browser's own
// import, which passes the nonce of this script on. No module uses an import map.
window.importShim = Object.assign((address) => import(address), { addImportMap() {} });
window.Bokeh.embed.embed_items({}, JSON.parse(document.getElementById("sessions").textContent));
