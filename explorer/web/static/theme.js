(function () {
  var match = document.cookie.match(/(?:^|; )explorer-theme=(light|dark)/);
  var theme = match ? match[1] : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
})();
