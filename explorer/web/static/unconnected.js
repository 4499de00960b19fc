// The page while it is not connected: how its socket ended (Bokeh opens the socket, and reports nothing if the server
// refuses it), a script that did not load, and what a person presses already.
(function () {
  const SIGNED_OUT = 4401, REFUSED = 4400;
  const root = document.documentElement;
  // The page's script reacts only when the page is connected. What was pressed last is pressed again then: it would be
  // lost, and a form would leave for an address of its fields. Links lead where they say without a script.
  let again = null;
  for (const [kind, what] of [["click", "[data-do]"], ["submit", "form[data-send]"]]) {
    document.addEventListener(kind, (event) => {
      const pressed = root.dataset.live ? null : event.target.closest?.(what);
      if (!pressed) return;
      if (pressed.matches("#silence [data-do=reload]")) location.reload();
      event.preventDefault();
      again = () => { if (kind === "click") pressed.click(); else pressed.requestSubmit(event.submitter); };
    });
  }
  const connected = new MutationObserver(() => {
    if (!root.dataset.live) return;
    connected.disconnect();
    again?.();
  });
  connected.observe(root, { attributes: true, attributeFilter: ["data-live"] });
  // Without plotly the page works, and its script says what is missing.
  window.addEventListener("error", ({ target }) => {
    if (target instanceof HTMLScriptElement && target.id !== "plotly") root.dataset.silence = "unloaded";
  }, true);
  window.WebSocket = class extends window.WebSocket {
    constructor(...values) {
      super(...values);
      let opened = false;
      this.addEventListener("open", () => { opened = true; });
      this.addEventListener("close", ({ code }) => {
        if (code === SIGNED_OUT) root.dataset.silence = "ended";
        else if (code === REFUSED || (!opened && !root.dataset.live)) root.dataset.silence = "refused";
      });
    }
  };
})();
