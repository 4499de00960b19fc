(function () {
  var found = document.cookie.match(/(?:^|; )explorer-theme=(light|dark)/);
  var theme = found ? found[1] : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
})();
