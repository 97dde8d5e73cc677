// The import page: when the server cannot be reached, the bar goes and the form stays.
"use strict";

(() => {
  const idle = document.getElementById("import-progress")?.cloneNode(false);

  for (const failure of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.body.addEventListener(failure, (event) => {
      const bar = document.getElementById("import-progress");
      if (event.target.id !== "import-form" || !idle || !bar) return;
      const fresh = idle.cloneNode(false);
      bar.replaceWith(fresh);
      htmx.process(fresh);
    });
  }
})();
