// A proposal's page: the bar says what part of the change was never in view and leads there; a panel leaves it in view.
"use strict";

(() => {
  const CHANGED = "#change .redline .changed, #change tr.changed, #change [data-change], #change [data-whole]";
  // Every part is noted once its end was above the bar; folds that open and views that change move the others.
  const seen = new WeakSet();

  const below = () => {
    const link = document.querySelector("[data-below]");
    if (!link) return;
    const bar = link.closest(".decide").getBoundingClientRect();
    // A little less: of a part that only its margin is hidden of, all the words were in view.
    const unseen = [...document.querySelectorAll(CHANGED)].filter((part) => {
      if (!seen.has(part) && part.getBoundingClientRect().bottom <= bar.top + 8) seen.add(part);
      return !seen.has(part);
    });
    link.hidden = !unseen.length;
    if (!unseen.length) return;
    const starts = unseen.filter((part) => part.matches("[data-change]")).length;
    // The rest of one that began above counts as one more; so do notes on later pages, each.
    const count = starts + !unseen[0].matches("[data-change]") + Number(document.getElementById("change").dataset.later ?? 0);
    const words = unseen[0].matches("[data-whole]") ? link.dataset.rest : count === 1 ? link.dataset.one : link.dataset.many;
    link.firstElementChild.textContent = words.replace("#", count);
    const first = unseen.find((part) => part.getBoundingClientRect().top > bar.top - 24) ?? unseen[0];
    first.id ||= "change-rest";
    link.href = `#${first.id}`;
  };

  // Narrow, a panel of the bar takes half of the window: what it is about goes to the top of the other half.
  const narrow = matchMedia("(width < 40rem)");
  document.addEventListener(
    "toggle",
    (event) => {
      if (!event.target.matches?.(".decide-panel[open]") || !narrow.matches) return;
      const first = document.querySelector("#change [data-change]") ?? document.getElementById("change");
      const top = first.getBoundingClientRect().top;
      if (top < 0 || top > innerHeight / 4) scrollBy({ top: top - 16, behavior: "instant" });
    },
    true,
  );

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      below();
    });
  };

  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  document.addEventListener("toggle", soon, true);
  document.body.addEventListener("htmx:afterSettle", soon);
  soon();
})();
