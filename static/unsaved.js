/* Nothing typed is lost without a question: before a page or a part of it is left, forms with unsaved text are named
   to the browser, which asks. A form counts as unsaved when a field differs from what the server sent, or when the
   server itself sent typed text back unsaved ([data-unsaved]; [data-typed-again] on the page after signing in again; a
   comment that is filled from the start). What one types for a conflict is what one chooses. */
"use strict";

(() => {
  const body = document.body;
  // Forms on their way to the server: leaving because of them loses nothing.
  let sent = new WeakSet();

  const differs = (field) => {
    if (field.type === "hidden" || field.disabled || field.readOnly) return false;
    // Rows that are ticked in the list are chosen again in a moment, and nothing was typed.
    if (field.matches("[data-tick]") && field.form?.id === "several") return false;
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.type === "file") return field.files.length > 0;
    if (field.tagName === "SELECT") {
      const first = [...field.options].findIndex((option) => option.defaultSelected);
      return field.selectedIndex !== Math.max(first, 0);
    }
    if (field.tagName !== "TEXTAREA" && field.tagName !== "INPUT") return false;
    // A new comment begins empty: one that does not was typed and sent back.
    if (field.tagName === "TEXTAREA" && ["comment", "said"].includes(field.name)) return field.value.trim() !== "";
    return field.value !== field.defaultValue;
  };

  const isUnsaved = (form) => {
    if (form.method !== "post" || sent.has(form) || form.classList.contains("htmx-request")) return false;
    if (form.querySelector("input[type=password]")) return false;
    const sentBack = form.matches("[data-unsaved]") || (form.matches("main .form") && document.querySelector("[data-typed-again]"));
    return Boolean(sentBack) || [...form.elements].some(differs);
  };

  const unsavedIn = (part, own) => [...part.querySelectorAll("form")].some((form) => form !== own && isUnsaved(form));

  // Who stays, or comes back by the browser's button, can send what was on its way: assent.js disabled its buttons.
  const sendAgain = () => {
    sent = new WeakSet();
    for (const button of document.querySelectorAll("form button[type=submit]:disabled")) button.disabled = false;
  };

  window.addEventListener("beforeunload", (event) => {
    if (!unsavedIn(document)) return;
    event.preventDefault();
    setTimeout(sendAgain);
  });

  // Who writes a text of their own for a conflict has chosen it.
  document.addEventListener("input", (event) => {
    if (!event.target.matches("textarea[name^=own_]")) return;
    event.target.closest(".conflict").querySelector("input[type=radio][value=own]").checked = true;
  });

  // What was typed before the scripts came is heard now, by those of every file: the preview shows it, the choice is made.
  document.addEventListener("DOMContentLoaded", () => {
    for (const field of document.querySelectorAll("form textarea")) {
      if (field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });

  document.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) sent.add(event.target);
  });

  window.addEventListener("pageshow", (event) => {
    if (event.persisted) sendAgain();
  });

  // The server may answer a part's request by leading to another page.
  body.addEventListener("htmx:beforeOnLoad", (event) => {
    const answer = event.detail.xhr;
    const form = event.detail.elt.closest("form");
    if (form && (answer.getResponseHeader("HX-Redirect") || answer.getResponseHeader("HX-Refresh"))) sent.add(form);
  });

  // A part with unsaved text is replaced only after a question, unless it is the text that is sent.
  body.addEventListener("htmx:confirm", (event) => {
    const { elt, target } = event.detail;
    const form = elt.closest("form");
    if (!target || !unsavedIn(target, form)) return;
    if (window.confirm(body.dataset.unsavedQuestion)) return;
    event.preventDefault();
    // What was chosen says again what the page shows.
    if (form?.method === "get") form.reset();
  });

  // What another's decision refreshes beside it stays as it is while somebody writes in it.
  body.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (unsavedIn(event.detail.target)) event.detail.shouldSwap = false;
  });
})();
