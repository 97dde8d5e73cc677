/* Several rows at once: how many are selected, ranges with Shift, all of a page of notes.
   Without it the ticks and the buttons work all the same. */
"use strict";

(() => {
  const number = new Intl.NumberFormat(document.documentElement.lang);
  let last = null;

  const ticks = () => [...document.querySelectorAll("[data-tick]")];

  const show = () => {
    const count = document.querySelector("#several [data-count]");
    if (!count) return;
    const all = ticks();
    const ticked = all.filter((tick) => tick.checked);
    // A row may stand for the same change of several people.
    const chosen = ticked.reduce((sum, tick) => sum + tick.value.split(" ").length, 0);
    count.textContent = chosen === 1 ? count.dataset.one : count.dataset.many.replace("#", number.format(chosen));
    const approve = document.querySelector("#several [data-words]");
    const left = all.length - chosen;
    if (approve) {
      const words = left ? approve.dataset.words.replace("%", number.format(left)) : approve.dataset.all;
      approve.textContent = words.replace("#", number.format(chosen));
    }
    for (const tick of all) tick.closest("[data-row]")?.classList.toggle("is-ticked", tick.checked);
    const page = document.querySelector("[data-tick-page]");
    if (!page) return;
    page.checked = ticked.length === all.length;
    page.indeterminate = ticked.length > 0 && !page.checked;
    const isEvery = Boolean(document.querySelector("[data-tick-every]:checked"));
    if (isEvery || !chosen) count.textContent = "";
    for (const button of document.querySelectorAll("#several button")) button.disabled = !isEvery && !chosen;
  };

  const check = (some, checked) => {
    for (const tick of some) tick.checked = checked;
    show();
  };

  const range = (from, to, checked) => {
    const all = ticks();
    const [start, end] = [all.indexOf(from), all.indexOf(to)].sort((one, other) => one - other);
    check(start >= 0 ? all.slice(start, end + 1) : [to], checked);
  };

  const select = (isOn) => {
    document.querySelector(".list")?.classList.toggle("is-selecting", isOn);
    for (const menu of document.querySelectorAll(".view[open]")) menu.open = false;
  };

  const acts = {
    "[data-select]": () => {
      select(true);
      show();
      ticks()[0]?.focus();
    },
    "[data-clear]": () => {
      select(false);
      check(ticks(), false);
      (last?.closest("[data-row]") ?? document).querySelector("[data-open]")?.focus();
    },
  };

  document.addEventListener("click", (event) => {
    const tick = event.target.closest?.("[data-tick]");
    if (tick) {
      if (event.shiftKey && last) range(last, tick, tick.checked);
      last = tick;
      show();
    }
    for (const [selector, act] of Object.entries(acts)) {
      if (!event.target.closest?.(selector)) continue;
      event.preventDefault();
      act();
    }
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-tick-page]")) check(ticks(), event.target.checked);
    if (event.target.matches("[data-tick-every]")) show();
  });
  document.body.addEventListener("htmx:afterSettle", show);
  window.addEventListener("pageshow", show);
  show();
})();
