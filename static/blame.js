// Where sentences come from: pointing at one tells it beside the text, and the arrow keys go from one to the next.
// Without it each sentence is a link that leads to the same.
"use strict";

(() => {
  const text = document.querySelector("[data-blame]");
  if (!text) return;
  const links = [...text.querySelectorAll("[data-sentence]")];
  // Of a sentence in several cells the first is the link, which is reached by keyboard.
  const stops = links.filter((link) => link.id);
  const linkOf = (part) => {
    const number = part.closest("[data-sentence]")?.dataset.sentence;
    return number && stops.find((each) => each.dataset.sentence === number);
  };
  const panel = () => document.querySelector("[data-why]");
  const hint = panel().querySelector(".why-hint")?.cloneNode(true);
  const origin = location.pathname;
  let pinned = stops.find((link) => link.ariaCurrent === "true") ?? null;
  let later = 0;
  // While the focus goes back to a sentence that was just let go.
  let isQuiet = false;

  // One stop for the Tab key: a text may have hundreds of sentences.
  const stopAt = (link) => stops.forEach((each) => (each.tabIndex = each === link ? 0 : -1));
  stopAt(stops.find((link) => link === pinned) ?? stops[0]);

  const fetchWhy = (query) =>
    htmx.ajax("GET", origin + query, { target: "#why", select: "#why > *", swap: "innerHTML", source: text });

  // In a narrow window what is told stands at its lower edge, perhaps over the sentence.
  const uncover = (link) => {
    const [box, words] = [panel().getBoundingClientRect(), link.getBoundingClientRect()];
    const isBeside = box.left >= words.right || box.top >= words.bottom || box.bottom <= words.top;
    if (!isBeside) scrollBy({ top: words.bottom - box.top + 16 });
  };

  const mark = (link) => {
    for (const each of links) each.classList.toggle("is-same", Boolean(link) && each.dataset.from === link.dataset.from);
  };

  const tell = (link) => {
    if (pinned) return;
    mark(link);
    const row = document.querySelector(`[data-change-of="${link.dataset.from}"]`);
    if (!row) {
      fetchWhy(`${link.getAttribute("href").split("#")[0]}&peek=1`);
      return;
    }
    const card = document.createElement("div");
    card.className = "why-card stack-s";
    const title = document.createElement("h2");
    title.textContent = row.dataset.title;
    card.append(title, ...[...row.children].slice(1).map((part) => part.cloneNode(true)));
    panel().replaceChildren(card);
  };

  const release = () => {
    pinned = null;
    for (const each of links) each.ariaCurrent = null;
  };

  const unpin = () => {
    const link = pinned;
    release();
    mark(null);
    panel().replaceChildren(...(hint ? [hint.cloneNode(true)] : []));
    history.replaceState(null, "", `${origin}${text.matches(".blame-by-age") ? "?by=age" : ""}`);
    isQuiet = true;
    link?.focus({ preventScroll: true });
    isQuiet = false;
  };

  const pin = (link) => {
    clearTimeout(later);
    mark(link);
    for (const each of links) each.ariaCurrent = each.dataset.sentence === link.dataset.sentence ? "true" : null;
    pinned = link;
    const [address] = link.getAttribute("href").split("#");
    history.replaceState(null, "", origin + address);
    fetchWhy(address)?.then(() => uncover(link));
  };

  text.addEventListener("click", (event) => {
    const link = linkOf(event.target);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    stopAt(link);
    pin(link);
  });

  text.addEventListener("pointerover", (event) => {
    clearTimeout(later);
    const link = linkOf(event.target);
    // Not at once: the pointer crosses sentences on its way to the words beside them.
    if (link && event.pointerType === "mouse") later = setTimeout(() => tell(link), 90);
  });
  text.addEventListener("pointerleave", () => clearTimeout(later));
  text.addEventListener("focusin", (event) => {
    const link = linkOf(event.target);
    if (!link) return;
    stopAt(link);
    if (!isQuiet) tell(link);
  });

  text.addEventListener("keydown", (event) => {
    const at = stops.indexOf(linkOf(event.target));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: stops.length - 1 }[event.key];
    if (!stops[to]) return;
    event.preventDefault();
    release();
    stops[to].focus();
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
