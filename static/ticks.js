// The boxes by which the changes of a proposal are ticked: what is chosen goes along with the form that approves, also
// for changes on other pages and in other views, and its button says how many of them. Without it the server does both.
"use strict";

(() => {
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const boxes = () => [...document.querySelectorAll("[data-tick]")];
  const kept = () => {
    const exceptions = document.querySelector("[data-exceptions]");
    return exceptions && { exceptions, base: document.querySelector("[data-ticked]"), ids: new Set(exceptions.value.split(" ").filter(Boolean)) };
  };

  const say = (state) => {
    const total = Number(state.exceptions.dataset.total);
    const left = state.base.value === "all" ? state.ids.size : total - state.ids.size;
    const button = document.querySelector("#approve-form [data-some]");
    if (button && !button.hasAttribute("aria-busy")) {
      button.form.elements.despite_warnings.value = "";
      button.textContent = left ? button.dataset.some.replace("#", number.format(total - left)) : button.dataset.all;
    }
    document.querySelector("[data-left]")?.classList.toggle("is-on", left > 0);
    const words = document.querySelector("[data-left-words]");
    if (words && left) words.textContent = (left === 1 ? words.dataset.one : words.dataset.many).replace("#", number.format(left));
    const count = document.querySelector("[data-tick-count]");
    if (count) count.textContent = count.dataset.words.replace("#", number.format(total - left));
  };

  const write = (state) => {
    state.exceptions.value = [...state.ids].join(" ");
    say(state);
  };

  const show = (state) => {
    for (const box of boxes()) if (!box.disabled) box.checked = state.ids.has(box.value) !== (state.base.value === "all");
    say(state);
  };

  document.addEventListener("change", (event) => {
    const box = event.target;
    const state = box.matches?.("[data-tick]") && kept();
    if (!state) return;
    if (box.checked === (state.base.value === "all")) state.ids.delete(box.value);
    else state.ids.add(box.value);
    write(state);
  });

  // All, none, this page: at once, instead of with the answer of the server.
  document.addEventListener("click", (event) => {
    const many = event.target.closest?.(".tick-many button[name=tick]");
    const state = many && kept();
    if (!state) return;
    event.preventDefault();
    const outdated = boxes().filter((box) => box.disabled).map((box) => box.value);
    const fits = (box) => !box.disabled;
    // What no longer fits stays left out; on pages not shown it was left out from the start.
    const always = new Set([...(state.exceptions.dataset.outdated ?? "").split(" ").filter(Boolean), ...outdated]);
    state.base.value = many.value === "all" ? "all" : "none";
    state.ids = many.value === "all" ? always : new Set(many.value === "page" ? boxes().filter(fits).map((box) => box.value) : []);
    write(state);
    show(state);
    many.focus();
  });

  const start = () => {
    const state = kept();
    if (state) show(state);
  };
  // Another view or page of the change comes with what was ticked when it was asked for.
  document.body.addEventListener("htmx:afterSettle", start);
  window.addEventListener("pageshow", start);
  start();
})();
