// The memory forms: how long the text is, against the limit as it is typed. Without it the server says so.
"use strict";

(() => {
  const number = new Intl.NumberFormat(document.documentElement.lang);

  const show = () => {
    for (const counter of document.querySelectorAll("[data-counter]")) {
      const text = counter.querySelector("textarea");
      const line = counter.querySelector("[data-counter-text]");
      const most = Number(text.form.querySelector("[name=limit]").value) || 0;
      // Characters as the server counts them: code points, not UTF-16 units.
      const used = Array.from(text.value).length;
      line.hidden = false;
      line.classList.toggle("counter-over", used > most);
      line.firstElementChild.value =
        `${number.format(used)} / ${number.format(most)}` +
        (used > most ? ` · ${counter.dataset.counterOver} ${number.format(used - most)}` : "");
    }
  };

  for (const event of ["input", "htmx:afterSettle"]) document.body.addEventListener(event, show);
  show();
})();
