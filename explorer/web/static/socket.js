// Records how the page's socket ended, and a script that did not load. Bokeh opens the socket, and reports nothing if the
// server refuses it.
(function () {
  const SIGNED_OUT = 4401, REFUSED = 4400;
  const root = document.documentElement;
  // The page's script reacts only when the page is connected.
  document.addEventListener("click", ({ target }) => {
    if (!root.dataset.live && target.closest?.("#silence [data-do=reload]")) location.reload();
  });
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
