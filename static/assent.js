/* What the pages do beyond links and forms: everything works without it.
   htmx swaps parts; this gives it the CSRF token, moves the focus on purpose, says results aloud to
   screen readers, and offers keyboard shortcuts. No inline script exists, so the policy can forbid it. */
"use strict";

(() => {
  const body = document.body;

  // -- htmx ----------------------------------------------------------------------------------------

  const cookie = (name) => {
    for (const part of document.cookie.split(";")) {
      const [key, value] = part.trim().split("=");
      if (key === name) return decodeURIComponent(value);
    }
    return "";
  };

  body.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = cookie(body.dataset.csrfCookie);
    // A filter left at "all" says nothing in the address.
    if (event.target.matches("[data-filters]")) {
      for (const [name, value] of [...event.detail.formData]) if (!value) event.detail.formData.delete(name);
    }
    // A decision on a row changes what the rows beside it are shown against: which these are goes along.
    const rows = event.target.closest("[data-row]")?.parentElement.querySelectorAll(":scope > [data-row]");
    if (rows && event.detail.verb === "post") {
      event.detail.formData.set("beside", [...rows].map((row) => row.dataset.row).filter(Boolean).join(","));
    }
  });

  // A page nobody looks at does not ask whether something new arrived, unless notices are wanted (badge.js).
  body.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.matches("[data-poll]") && document.hidden && !localStorage.getItem("assent-notices")) event.preventDefault();
  });

  const say = (words) => {
    const live = document.getElementById("live");
    live.textContent = "";
    // In its own turn, so that the same words said twice are read twice.
    setTimeout(() => (live.textContent = words.trim().replace(/\s+/g, " ")), 50);
  };

  // A row that was decided folds, and the reader is at the one below it, or the last that is left.
  let decided = null;
  const followed = (row) => {
    if (!row.matches(".row-decided")) return null;
    decided = row;
    const rows = [...document.querySelectorAll("[data-row]")];
    const waiting = rows.filter((each) => !each.matches(".row-decided"));
    return (waiting.find((each) => rows.indexOf(each) > rows.indexOf(row)) ?? waiting.at(-1))?.querySelector("[data-open]");
  };

  // After a swap the focus goes where the result is; without that it would fall back to the page's top.
  body.addEventListener("htmx:afterSettle", (event) => {
    const swapped = event.detail.elt;
    if (!swapped || !swapped.isConnected) return;
    const find = (selector) => (swapped.matches(selector) ? swapped : swapped.querySelector(selector));
    // Of details with one name only one is open: while the old and the new are both there, the browser shuts the new.
    // Where there is something else to read first, it stays shut.
    if (!find("[data-focus]")) for (const returned of swapped.querySelectorAll("details[data-opened]")) returned.open = true;
    const announced = find("[data-announce]");
    if (announced) say(announced.textContent);
    const target = followed(swapped) ?? find("[data-focus]");
    const lost = !document.activeElement || document.activeElement === body;
    if (target && (lost || !swapped.contains(document.activeElement))) {
      if (!event.detail.requestConfig?.elt?.matches?.("[data-poll]")) target.focus({ preventScroll: lost && swapped.id === "inbox" });
    }
  });

  // A whole page that answers a form begins with what is wrong, or with what became of it.
  if (!location.hash) document.querySelector("main .panel[data-focus], main .panel [data-focus], main [aria-invalid=true]")?.focus();

  // -- forms ---------------------------------------------------------------------------------------

  // Forms sent without htmx: a second press must not send a second time (unsaved.js lets it again).
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("hx-post")) return;
    setTimeout(() => form.querySelectorAll("button[type=submit]").forEach((button) => (button.disabled = true)));
  });

  // Menus close on a click elsewhere and on Escape.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("[data-menu][open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = event.target.closest?.("details[open]");
    if (open?.matches("[data-menu], .decide-panel, .decide-more details, .row-reject, .filters-more")) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  });
  // A panel that opens puts the focus into its first field.
  document.addEventListener("toggle", (event) => {
    const panel = event.target;
    if (!panel.open || !panel.matches?.(".decide-panel, .decide-more details, .row-reject") || panel.dataset.quiet) return;
    const fields = [...panel.querySelectorAll("input:not([type=hidden]), textarea, select")].filter((field) => field.checkVisibility());
    (fields.find((field) => field.getAttribute("aria-invalid") === "true") ?? fields[0])?.focus();
  }, true);

  // -- the time zone -------------------------------------------------------------------------------

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const field of document.querySelectorAll("[data-time-zone]")) field.value = zone ?? "";
  for (const offer of document.querySelectorAll("[data-time-zone-offer]")) {
    const select = document.getElementById(offer.dataset.timeZoneOffer);
    const here = [...select.options].find((option) => option.value === zone);
    const take = offer.querySelector("button");
    offer.hidden = !here || select.value === zone;
    take.textContent = here?.textContent ?? "";
    take.addEventListener("click", () => {
      select.value = zone;
      select.focus();
      offer.hidden = true;
    });
  }

  // -- keyboard ------------------------------------------------------------------------------------

  const help = document.getElementById("shortcuts");
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-shortcut-help]")) help.showModal();
  });

  const visible = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());

  const step = (selector, by, focus) => {
    const all = visible(selector);
    if (!all.length) return;
    const inside = all.findIndex((element) => element.contains(document.activeElement) || element.classList.contains("is-current"));
    const next = inside < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(inside + by, 0), all.length - 1);
    all.forEach((element) => element.classList.remove("is-current"));
    all[next].classList.add("is-current");
    focus(all[next]);
    all[next].scrollIntoView({ block: "center" });
  };

  // The row the reader is in, else the page.
  const here = () => document.activeElement?.closest?.("[data-row]") ?? document;

  const focusOn = (found) => {
    for (let panel = found?.closest("details"); panel; panel = panel.parentElement.closest("details")) panel.open = true;
    // The bar is always in view: nothing has to move for it.
    if (!found?.matches("summary")) found?.focus({ preventScroll: Boolean(found.closest(".decide")) });
    return found;
  };

  // A verb of the row or page; what a row does not have, its proposal's page has, and after a decision the next.
  const verb = (name) => {
    if (focusOn(here().querySelector(`[data-${name}]`))) return;
    const page = here().querySelector(here() === document ? "[data-next]" : ':scope:not([data-row=""]) [data-open]');
    if (page) location.assign(`${page.href}#${name}`);
  };

  // Of the list's rows, those that are ticked; without any, the one the reader is in.
  const selected = () => document.querySelector("#several") && document.querySelector("[data-tick]:checked");
  const rejectRows = () => {
    if (!selected()) here().querySelector("[data-tick]")?.click();
    focusOn(document.querySelector("#several [data-reject]"));
  };

  const undo = () => focusOn(here().querySelector("[data-undo]") ?? (decided?.isConnected ? decided.querySelector("[data-undo]") : null));

  const search = () => {
    const field = document.querySelector("[data-search]");
    const menu = document.querySelector(".view");
    if (menu && !field.checkVisibility()) menu.open = true;
    field?.focus();
  };

  // As a click with Shift: all from the last one that was ticked.
  const tickTo = (box) => {
    if (box) box.checked = false;
    box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }));
  };

  const tick = () => {
    const current = document.activeElement?.closest?.("[data-change]") ?? document.querySelector("[data-change].is-current");
    const number = current?.id.match(/^change-(\d+)$/)?.[1];
    (current?.querySelector("[data-tick]") ?? (number && document.querySelector(`[data-tick="${number}"]`)))?.click();
  };

  const keys = {
    j: () => step("[data-row]", 1, (row) => row.querySelector("[data-open]")?.focus()),
    k: () => step("[data-row]", -1, (row) => row.querySelector("[data-open]")?.focus()),
    "[": () => document.querySelector("[data-newer]")?.click(),
    "]": () => document.querySelector("[data-older]")?.click(),
    o: () => (here().querySelector("[data-open]") ?? document.querySelector("[data-next]"))?.click(),
    a: () => (selected() ? focusOn(document.querySelector("[data-approve-several]")) : verb("approve")),
    r: () => (here() !== document && document.querySelector("#several [data-reject]") ? rejectRows() : verb("reject")),
    q: () => verb("request"),
    u: undo,
    e: () => verb("edit"),
    x: () => (here() === document ? tick() : here().querySelector("[data-tick]")?.click()),
    X: () => tickTo(document.activeElement?.closest?.("[data-row]")?.querySelector("[data-tick]")),
    n: () => step("[data-change]", 1, (change) => change.focus({ preventScroll: true })),
    p: () => step("[data-change]", -1, (change) => change.focus({ preventScroll: true })),
    "/": search,
    "?": () => help?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (body.dataset.shortcuts !== "on" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select, dialog, [contenteditable]")) return;
    const reason = /^[1-9]$/.test(event.key) && visible(".reject-form input[name=reason]")[event.key - 1];
    if (!reason && !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]?.();
    if (reason) reason.click();
    if (reason) reason.focus();
  });

  // Where a key on another page led here; after htmx has begun, so that Enter at once does what it does later.
  const verbs = ["#approve", "#reject", "#request", "#edit"];
  document.addEventListener("DOMContentLoaded", () => {
    if (verbs.includes(location.hash) && focusOn(document.querySelector(`[data-${location.hash.slice(1)}]`))) {
      history.replaceState(history.state, "", location.pathname + location.search);
    }
  });
})();
