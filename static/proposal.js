// A proposal's page: the bar says what part of the change was never in view and leads there; what has warnings takes two
// presses; the map follows the reader; an editor opens at the first change, a comment at the change it is about.
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
    link.title = link.firstElementChild.textContent;
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

  const follow = () => {
    const all = [...document.querySelectorAll(HEADING)];
    const at = Math.max(reading(all), 0);
    const here = all[at]?.id;
    for (const place of document.querySelectorAll("[data-at]")) {
      const words = all.length > 1 ? place.dataset.words.replace("#n", at + 1).replace("#m", all.length) : "";
      if (place.textContent !== words) place.textContent = words;
    }
    for (const mark of document.querySelectorAll("[data-map]")) mark.classList.toggle("is-here", mark.dataset.map === here);
  };

  document.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-map]");
    const place = mark && document.getElementById(mark.dataset.map);
    if (place) {
      document.querySelectorAll(HEADING).forEach((each) => each.classList.toggle("is-current", each === place));
      place.focus({ preventScroll: true });
      place.scrollIntoView({ block: "center" });
    }
    // A link beside a change leads to the form of the thread, with that change chosen.
    const link = event.target.closest("a[data-about]");
    const said = link && !event.ctrlKey && !event.metaKey && !event.shiftKey && document.getElementById("talk-said");
    if (!said) return;
    event.preventDefault();
    said.closest("details").open = true;
    const select = document.getElementById("talk-change");
    if (select) select.value = link.dataset.about;
    said.focus();
    said.scrollIntoView({ block: "center" });
  });

  // -- what has warnings takes two presses ---------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const button = [...event.target.elements].find((each) => each.matches("[data-again]"));
    const despite = event.target.elements.despite_warnings;
    if (!button || despite.value || event.submitter?.name) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const words = button.textContent;
    button.textContent = document.getElementById("live").textContent = button.dataset.again;
    despite.value = "1";
    button.addEventListener("blur", () => {
      button.textContent = words;
      despite.value = "";
    }, { once: true });
    button.focus({ preventScroll: true });
  }, true);

  // -- the editor opens where the first change is --------------------------------------------------

  const edit = () => {
    const text = document.querySelector("textarea[data-caret]");
    if (!text) return;
    const at = Number(text.dataset.caret);
    delete text.dataset.caret;
    if (text.value !== text.defaultValue || text.getAttribute("aria-invalid")) return;
    const { value } = text;
    // As high as the text above the caret is, that far down it stands.
    Object.assign(text.style, { height: 0, minHeight: 0 });
    text.value = value.slice(0, at);
    const top = text.scrollHeight;
    text.value = value;
    Object.assign(text.style, { height: "", minHeight: "" });
    text.focus({ preventScroll: true });
    text.setSelectionRange(at, at);
    text.scrollTop = top - text.clientHeight / 3;
    text.closest(".change").scrollIntoView({ block: "start" });
  };

  // Narrow, a panel of the bar takes half of the window: what it is about goes to the top of the other half.
  const narrow = matchMedia("(width < 40rem)");
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.(".decide-panel[open], .decide-more details[open]") || !narrow.matches) return;
    const first = document.querySelector("#change .changed, #change [data-change]") ?? document.getElementById("change");
    const top = first.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 4) scrollBy({ top: top - 16, behavior: "instant" });
  }, true);

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      below();
      follow();
    });
  };

  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  addEventListener("focusin", soon);
  document.addEventListener("toggle", soon, true);
  document.body.addEventListener("htmx:afterSettle", () => {
    edit();
    soon();
  });
  edit();
  // In a long table, say, the first change may be below the bar: one begins to read where it is.
  const first = document.querySelector("#change :is(ins, del)");
  const bar = document.querySelector(".decide");
  if (first && bar && !location.hash && !scrollY && first.getBoundingClientRect().top > bar.getBoundingClientRect().top - 24) {
    scrollBy({ top: first.getBoundingClientRect().top - innerHeight / 2, behavior: "instant" });
  }
  soon();
})();
