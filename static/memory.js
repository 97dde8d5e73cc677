// The memory forms: how long the text is, against the limit as it is typed. Without it the server says so.
"use strict";

const count = (counter) => {
  const text = counter.querySelector("textarea");
  const line = counter.querySelector("[data-counter-text]");
  const limit = text.form.querySelector("[name=limit]");
  const number = new Intl.NumberFormat(document.documentElement.lang);

  const show = () => {
    // Characters as the server counts them: code points, not UTF-16 units.
    const used = Array.from(text.value).length;
    const most = Number(limit.value) || 0;
    const over = used - most;
    line.hidden = false;
    line.classList.toggle("counter-over", over > 0);
    line.firstElementChild.value =
      `${number.format(used)} / ${number.format(most)}` +
      (over > 0 ? ` · ${counter.dataset.counterOver} ${number.format(over)}` : "");
  };

  text.addEventListener("input", show);
  limit.addEventListener("input", show);
  show();
};

const countAll = () => {
  for (const counter of document.querySelectorAll("[data-counter]:has([data-counter-text][hidden])")) count(counter);
};
document.body.addEventListener("htmx:afterSettle", countAll);
countAll();
