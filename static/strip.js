// The strip of a block's changes: arrow keys and dragging move through the versions, and the one below is shown in place.
// Without it each bar is a link to the same.
"use strict";

(() => {
  const strip = document.querySelector("[data-strip]");
  if (!strip) return;
  const bars = [...strip.querySelectorAll("[data-bar]")];
  const isVersion = (bar) => bar.getAttribute("href").startsWith("?v=");
  // The place stays and its contents change: a request that waits for another keeps its target.
  const SWAP = { target: "#shown", select: "#shown > *", swap: "innerHTML", source: strip };
  let later = 0;
  let dragged = null;

  const choose = (bar) => {
    for (const each of bars) {
      each.classList.toggle("is-chosen", each === bar);
      each.ariaCurrent = each === bar ? "true" : null;
      each.classList.remove("is-end");
    }
  };

  const show = (bar) => {
    clearTimeout(later);
    const address = location.pathname + bar.getAttribute("href").split("#")[0];
    history.replaceState(null, "", address);
    return htmx.ajax("GET", address, SWAP);
  };

  // One stop for the Tab key, and the arrow keys from there on.
  const stopAt = (bar) => bars.forEach((each) => each.setAttribute("tabindex", each === bar ? "0" : "-1"));
  stopAt(bars.find((bar) => bar.matches(".is-chosen")) ?? bars.at(-1));

  const move = (bar, { wait }) => {
    stopAt(bar);
    bar.focus({ preventScroll: false });
    if (!isVersion(bar)) return;
    choose(bar);
    clearTimeout(later);
    if (wait) later = setTimeout(() => show(bar), 180);
    else show(bar);
  };

  strip.addEventListener("keydown", (event) => {
    const at = bars.indexOf(event.target.closest("[data-bar]"));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key];
    if (!bars[to]) return;
    event.preventDefault();
    move(bars[to], { wait: true });
  });

  strip.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-bar]");
    if (!bar || !isVersion(bar) || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if (dragged === null) move(bar, { wait: false });
    dragged = null;
  });

  const under = (event) => {
    const { left, width } = strip.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * bars.length);
    return bars[Math.min(Math.max(place, 0), bars.length - 1)];
  };

  // A finger scrolls the strip and taps; a mouse or a pen drags along it.
  strip.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button || !bars.some(isVersion)) return;
    let last = under(event);
    const drag = (moved) => {
      const bar = under(moved);
      if (bar === last || !isVersion(bar)) return;
      last = dragged = bar;
      move(bar, { wait: true });
    };
    const end = () => {
      removeEventListener("pointermove", drag);
      if (dragged) show(dragged);
      // The click that ends a drag comes after this, unless it was let go of elsewhere.
      setTimeout(() => (dragged = null));
    };
    addEventListener("pointermove", drag);
    addEventListener("pointerup", end, { once: true });
  });
  // The browser would drag the link away.
  strip.addEventListener("dragstart", (event) => event.preventDefault());

  // Older and newer beside what is shown, in place too.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#shown a[rel]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const commit = new URLSearchParams(link.getAttribute("href").split("#")[0]).get("v");
    const bar = bars.find((each) => each.dataset.bar === commit);
    if (!bar || !isVersion(bar)) return;
    event.preventDefault();
    const rel = link.rel;
    stopAt(bar);
    choose(bar);
    show(bar).then(() => {
      (document.querySelector(`#shown a[rel=${rel}]`) ?? document.getElementById("version-title"))?.focus();
    });
  });
})();
