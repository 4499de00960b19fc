// Records how the page's socket ended. Bokeh opens the socket, and reports nothing if the server refuses it.
(function () {
  const SIGNED_OUT = 4401, REFUSED = 4400;
  const root = document.documentElement;
  // page.js arrives only through the socket.
  document.addEventListener("click", ({ target }) => {
    if (!root.dataset.live && target.closest?.("#silence [data-do=reload]")) location.reload();
  });
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
