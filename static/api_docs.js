// Swagger UI is dark when the page's root has this class. In the head, so that the page never flashes white.
"use strict";

(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
})();
