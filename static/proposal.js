// A proposal's page: the bar says what part of the change was never in view and leads there, counts the changes as one
// reads, and steps from one to the next; a panel leaves the change in view.
"use strict";

(() => {
  const HEADING = "#change .change-label";
  const CHANGED = "#change .redline .changed, #change tr.changed, #change [data-change]:not(.change-label), #change [data-whole]";
  // Every part is noted once its end was above the bar; folds that open and views that change move the others.
  const seen = new WeakSet();

  // The headings of the changes that begin with a part: in it, or right above a line or a row.
  const headings = (part) => {
    const inside = [...part.querySelectorAll(".change-label")];
    let above = part.previousElementSibling;
    if (above?.matches(".moved-note")) above = above.previousElementSibling;
    if (inside.length || !above) return inside;
    return above.matches(".change-label") ? [above] : [...(above.matches(".change-row") ? above.querySelectorAll(".change-label") : [])];
  };

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
    const starts = unseen.map((part) => (part.matches("[data-change]") ? 1 : headings(part).length));
    // The rest of one that began above counts as one more; so do notes on later pages, each.
    const count = starts.reduce((all, some) => all + some) + !starts[0] + Number(document.getElementById("change").dataset.later ?? 0);
    const words = unseen[0].matches("[data-whole]") ? link.dataset.rest : count === 1 ? link.dataset.one : link.dataset.many;
    link.firstElementChild.textContent = words.replace("#", count);
    const first = unseen.find((part) => part.getBoundingClientRect().top > bar.top - 24) ?? unseen[0];
    const target = headings(first)[0] ?? first;
    target.id ||= "change-rest";
    link.href = `#${target.id}`;
  };

  // The change one reads: the one stepped to while it is in view, else the last one that begins in the upper part.
  const reading = (all) => {
    const tops = all.map((heading) => heading.getBoundingClientRect().top);
    const chosen = all.findIndex((heading, number) => heading.matches(".is-current, :focus") && tops[number] >= 0 && tops[number] < innerHeight);
    return chosen >= 0 ? chosen : tops.findLastIndex((top) => top < innerHeight * 0.4);
  };

  const count = () => {
    const all = [...document.querySelectorAll(HEADING)];
    const at = Math.max(reading(all), 0);
    for (const steps of document.querySelectorAll("[data-steps]")) {
      steps.hidden = all.length < 2;
      const place = steps.querySelector("[data-at]");
      const words = place.dataset.words.replace("#n", at + 1).replace("#m", all.length);
      if (place.textContent !== words) place.textContent = words;
    }
    for (const mark of document.querySelectorAll("[data-map]")) mark.classList.toggle("is-here", Number(mark.dataset.map) === at + 1);
  };

  const show = (heading) => {
    document.querySelectorAll(HEADING).forEach((each) => each.classList.toggle("is-current", each === heading));
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "center" });
    count();
  };

  document.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]");
    const all = [...document.querySelectorAll(HEADING)];
    if (step && all.length) show(all[Math.min(Math.max(reading(all) + Number(step.dataset.step), 0), all.length - 1)]);
    const mark = event.target.closest("[data-map]");
    const heading = mark && document.getElementById(mark.getAttribute("href").slice(1));
    if (!heading) return;
    event.preventDefault();
    show(heading);
  });

  // Narrow, a panel of the bar takes half of the window: what it is about goes to the top of the other half.
  const narrow = matchMedia("(width < 40rem)");
  document.addEventListener(
    "toggle",
    (event) => {
      if (!event.target.matches?.(".decide-panel[open]") || !narrow.matches) return;
      const first = document.querySelector("#change .changed, #change [data-change]") ?? document.getElementById("change");
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
      count();
    });
  };

  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  addEventListener("focusin", soon);
  document.addEventListener("toggle", soon, true);
  document.body.addEventListener("htmx:afterSettle", soon);
  soon();
})();
