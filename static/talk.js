// The thread of a proposal: a link beside a change leads to the form, with that change chosen.
"use strict";

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-about]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const field = document.getElementById("talk-said");
  if (!field) return;
  event.preventDefault();
  const select = document.getElementById("talk-change");
  if (select) select.value = link.dataset.about;
  field.focus();
  field.scrollIntoView({ block: "center" });
});
