/* Several rows at once: how many are selected, ranges with Shift, all that are small and clean in one press.
   Without it the ticks and the buttons work all the same. */
"use strict";

(() => {
  let last = null;

  const ticks = () => [...document.querySelectorAll("[data-tick]")];

  const show = () => {
    const form = document.getElementById("several");
    if (!form) return;
    const number = ticks().filter((tick) => tick.checked).length;
    const count = form.querySelector("[data-count]");
    count.hidden = !number;
    count.textContent = number === 1 ? count.dataset.one : count.dataset.many.replace("#", number);
    form.querySelector("[data-clear]").hidden = !number;
    form.classList.toggle("is-selecting", number > 0);
    for (const tick of ticks()) tick.closest("[data-row]")?.classList.toggle("is-ticked", tick.checked);
  };

  const range = (from, to, checked) => {
    const all = ticks();
    const [start, end] = [all.indexOf(from), all.indexOf(to)].sort((one, other) => one - other);
    if (start >= 0) for (const tick of all.slice(start, end + 1)) tick.checked = checked;
  };

  document.addEventListener("click", (event) => {
    const tick = event.target.closest?.("[data-tick]");
    if (tick) {
      if (event.shiftKey && last?.isConnected) range(last, tick, tick.checked);
      last = tick;
      show();
      return;
    }
    if (event.target.closest?.("[data-tick-plain]")) {
      event.preventDefault();
      for (const each of ticks()) each.checked = each.hasAttribute("data-plain");
      show();
      document.querySelector("[data-approve-several]")?.focus();
    }
  });
  // Resetting the form sets its fields back afterwards.
  document.addEventListener("reset", (event) => {
    if (event.target.id === "several") setTimeout(() => (ticks().forEach((tick) => (tick.checked = false)), show()));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "X" || !event.shiftKey || document.body.dataset.shortcuts !== "on") return;
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog")) return;
    const tick = document.activeElement?.closest?.("[data-row]")?.querySelector("[data-tick]");
    if (!tick) return;
    event.preventDefault();
    if (last?.isConnected) range(last, tick, true);
    else tick.checked = true;
    last = tick;
    show();
  });
  document.body.addEventListener("htmx:afterSettle", show);
  window.addEventListener("pageshow", show);
  show();
})();
