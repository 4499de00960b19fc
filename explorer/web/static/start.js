// Joins the page to its session: the last script of a page, after Bokeh's and Panel's.

// The page's component is a module, which Panel hands to a loader for browsers without modules. In its place stands the
// browser's own: what a script imports is allowed by that script's nonce. Nothing here maps a name to an address.
window.importShim = Object.assign((address) => import(address), { addImportMap() {} });
window.Bokeh.embed.embed_items({}, JSON.parse(document.getElementById("sessions").textContent));
