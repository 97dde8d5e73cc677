/* A form on its way: a slow answer says what is being done and holds back what stands beside it; what could not be sent
   says whether anything was; Ctrl or ⌘ with Enter sends the text one is writing or the reason one has chosen. */
"use strict";

(() => {
  const body = document.body;
  const SLOW = 300;
  const waiting = new Map();

  const others = (form, button) =>
    [...(form.closest(".decide, [data-row]") ?? form).querySelectorAll(".button")].filter((other) => other !== button);

  const showBusy = (form, button) => {
    const words = button.textContent;
    const held = others(form, button);
    button.textContent = button.dataset.busy;
    button.setAttribute("aria-busy", "true");
    for (const other of held) other.setAttribute("aria-disabled", "true");
    document.getElementById("live").textContent = button.dataset.busy;
    return () => {
      button.textContent = words;
      button.removeAttribute("aria-busy");
      for (const other of held) other.removeAttribute("aria-disabled");
    };
  };

  body.addEventListener("htmx:beforeSend", (event) => {
    const form = event.detail.elt;
    event.detail.xhr.wasOffline = !navigator.onLine;
    const pressed = event.detail.requestConfig?.triggeringEvent?.submitter;
    const button = form.matches("form") && (pressed?.matches("[data-busy]") ? pressed : form.querySelector("[data-busy]"));
    if (!button) return;
    const entry = { restore: () => {} };
    entry.timer = setTimeout(() => (entry.restore = showBusy(form, button)), SLOW);
    waiting.set(form, entry);
  });

  body.addEventListener("htmx:afterRequest", (event) => {
    // A form that was swapped out tells through what stood around it.
    const form = event.detail.requestConfig?.elt ?? event.detail.elt;
    const entry = waiting.get(form);
    if (!entry) return;
    waiting.delete(form);
    clearTimeout(entry.timer);
    entry.restore();
  });

  // What is held back is neither opened nor sent, by pointer or by key.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".button[aria-disabled=true]")) event.preventDefault();
  }, true);
  body.addEventListener("htmx:confirm", (event) => {
    const region = event.detail.elt.closest(".decide, [data-row]");
    if (event.detail.triggeringEvent?.type === "submit" && region?.querySelector("[aria-busy=true]")) event.preventDefault();
  });

  // -- what could not be sent ----------------------------------------------------------------------

  const tell = (isUnsent) => {
    const content = document.getElementById("content");
    content.querySelector("[data-no-answer]")?.remove();
    const notice = document.createElement("div");
    notice.dataset.noAnswer = "";
    notice.className = "messages";
    notice.append(document.getElementById(isUnsent ? "offline" : "no-answer").content.cloneNode(true));
    content.prepend(notice);
    notice.scrollIntoView({ block: "nearest" });
  };

  for (const failure of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    body.addEventListener(failure, (event) => {
      // A poll that fails tries again by itself. Who was offline already has sent nothing; later, it is not known.
      if (!event.target.matches?.("[data-poll]")) tell(failure === "htmx:sendError" && event.detail.xhr.wasOffline);
    });
  }

  // -- Ctrl or ⌘ with Enter ------------------------------------------------------------------------

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.repeat) return;
    if (!event.target.matches?.(":is(.decide-panel, .row-reject, .reword, .talk-form) :is(textarea, input)")) return;
    event.preventDefault();
    // Pressed, so that what the button says goes along.
    [...event.target.form.elements].find((each) => each.matches("button[type=submit]:not([name=tick], [name=preview], [name=whole])")).click();
  });
})();
