// A block's past: the arrow keys go from one bar of the timeline, or one sentence, to the next, and what one is at is told
// in place. Without it each is a link that leads to the same.
"use strict";

(() => {
  const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.button);

  // One stop for the Tab key, as there may be hundreds, and the arrow keys from there on.
  const walk = (whole, stops, first, go) => {
    const stopAt = (stop) => stops.forEach((each) => (each.tabIndex = each === stop ? 0 : -1));
    stopAt(first);
    whole.addEventListener("focusin", (event) => stops.includes(event.target) && stopAt(event.target));
    whole.addEventListener("keydown", (event) => {
      const at = stops.indexOf(event.target);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: stops.length - 1 }[event.key];
      if (at < 0 || !stops[to] || !isPlain(event)) return;
      event.preventDefault();
      go(stops[to]);
      stops[to].focus();
    });
  };

  // The place stays and its contents change: a request that waits for another keeps its target.
  const tell = (place, query) =>
    htmx.ajax("GET", location.pathname + query, { target: place, select: `${place} > *`, swap: "innerHTML", source: place });

  const queryOf = (link) => link.getAttribute("href").split("#")[0];

  // -- the timeline: what has the focus, or is dragged along, is shown ----------------------------------

  const strip = document.querySelector("[data-strip]");
  const bars = strip ? [...strip.querySelectorAll("[data-bar]")] : [];
  let later = 0;

  const show = (bar) => {
    clearTimeout(later);
    for (const each of bars) {
      each.classList.toggle("is-chosen", each === bar);
      each.ariaCurrent = each === bar ? "true" : null;
      each.tabIndex = each === bar ? 0 : -1;
      each.classList.remove("is-end");
    }
    history.replaceState(null, "", queryOf(bar));
    return tell("#shown", queryOf(bar));
  };

  // Not at once: who holds a key, or drags, passes many.
  const showSoon = (bar) => {
    clearTimeout(later);
    if (queryOf(bar).startsWith("?v=")) later = setTimeout(show, 180, bar);
  };

  if (strip) {
    walk(strip, bars, bars.find((bar) => bar.matches(".is-chosen")) ?? bars.at(-1), showSoon);
    // A finger scrolls the strip and taps; a mouse or a pen drags along it.
    strip.addEventListener("pointerover", (event) => {
      const bar = event.target.closest("[data-bar]");
      if (bar && event.buttons === 1 && event.pointerType !== "touch") showSoon(bar);
    });
    // The browser would drag the link away.
    strip.addEventListener("dragstart", (event) => event.preventDefault());
    // A bar, and older and newer beside what is shown.
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-bar], #shown a[rel]");
      const bar = link && bars.find((each) => each.getAttribute("href") === link.getAttribute("href"));
      if (!bar || !queryOf(bar).startsWith("?v=") || !isPlain(event)) return;
      event.preventDefault();
      show(bar).then(() => {
        const same = link.rel && (document.querySelector(`#shown a[rel=${link.rel}]`) ?? document.getElementById("version-title"));
        (same || bar).focus();
      });
    });
  }

  // -- where sentences come from: pointing at one tells it beside the text ------------------------------

  const text = document.querySelector("[data-blame]");
  if (!text) return;
  const links = [...text.querySelectorAll("[data-sentence]")];
  // Of a sentence in several cells the first is the link, which is reached by keyboard.
  const stops = links.filter((link) => link.id);
  const linkOf = (part) => {
    const number = part.closest("[data-sentence]")?.dataset.sentence;
    return number && document.getElementById(`s${number}`);
  };
  const panel = document.getElementById("why");
  const hint = [...panel.querySelectorAll(".why-hint")];
  let pinned = stops.find((link) => link.ariaCurrent === "true");

  // In a narrow window what is told stands at its lower edge, perhaps over the sentence.
  const uncover = (link) => {
    const [box, words] = [panel.getBoundingClientRect(), link.getBoundingClientRect()];
    const isBeside = box.left >= words.right || box.top >= words.bottom || box.bottom <= words.top;
    if (!isBeside) scrollBy({ top: words.bottom - box.top + 16 });
  };

  const mark = (link) => {
    for (const each of links) each.classList.toggle("is-same", Boolean(link) && each.dataset.from === link.dataset.from);
  };

  const pin = (link) => {
    pinned = link;
    for (const each of links) each.ariaCurrent = link && each.dataset.sentence === link.dataset.sentence ? "true" : null;
  };

  const peek = (link) => {
    if (pinned) return;
    mark(link);
    const row = document.querySelector(`[data-change-of="${link.dataset.from}"]`);
    if (row) panel.replaceChildren(row.cloneNode(true));
    else tell("#why", `${queryOf(link)}&peek=1`);
  };

  const unpin = () => {
    history.replaceState(null, "", text.matches(".blame-by-age") ? "?by=age" : location.pathname);
    // First the focus: while one is pinned, what gets it tells nothing.
    pinned?.focus({ preventScroll: true });
    pin(null);
    mark(null);
    panel.replaceChildren(...hint);
  };

  walk(text, stops, pinned ?? stops[0], () => pin(null));
  text.addEventListener("pointerover", (event) => {
    clearTimeout(later);
    const link = linkOf(event.target);
    // Not at once: the pointer crosses sentences on its way to the words beside them.
    if (link && event.pointerType === "mouse") later = setTimeout(peek, 90, link);
  });
  text.addEventListener("pointerleave", () => clearTimeout(later));
  text.addEventListener("focusin", (event) => peek(event.target));
  text.addEventListener("click", (event) => {
    const link = linkOf(event.target);
    if (!link || !isPlain(event)) return;
    event.preventDefault();
    clearTimeout(later);
    mark(link);
    pin(link);
    history.replaceState(null, "", queryOf(link));
    tell("#why", queryOf(link)).then(() => uncover(link));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned) unpin();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-unpin]")) return;
    event.preventDefault();
    unpin();
  });
})();
