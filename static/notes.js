// The list of notes: how many are ticked, all of a page at once, and a run of them with Shift. Ticks and buttons work without.
"use strict";

(() => {
  const form = document.querySelector("[data-picks]");
  if (!form) return;
  const picks = [...form.querySelectorAll("[data-pick]")];
  const page = form.querySelector("[data-pick-page]");
  const every = form.querySelector("[data-pick-all]");
  const said = form.querySelector("[data-picked]");
  const buttons = form.querySelectorAll("button[name=do]");
  page.hidden = false;

  const show = () => {
    const number = picks.filter((pick) => pick.checked).length;
    page.firstElementChild.checked = number === picks.length;
    page.firstElementChild.indeterminate = number > 0 && number < picks.length;
    said.textContent = number && !every?.checked ? said.dataset.words.replace("#", number) : "";
    for (const button of buttons) button.disabled = !number && !every?.checked;
    form.classList.toggle("has-picks", number > 0 || Boolean(every?.checked));
  };

  let last = -1;
  form.addEventListener("click", (event) => {
    const at = picks.indexOf(event.target);
    if (at < 0) return;
    const from = event.shiftKey && last >= 0 ? last : at;
    for (const pick of picks.slice(Math.min(from, at), Math.max(from, at) + 1)) pick.checked = picks[at].checked;
    last = at;
    show();
  });
  page.firstElementChild.addEventListener("change", () => {
    for (const pick of picks) pick.checked = page.firstElementChild.checked;
    show();
  });
  form.addEventListener("change", show);
  addEventListener("pageshow", show);
  show();
})();
