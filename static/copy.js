// Buttons that copy the text of a field or a passage. Without scripts they are not there, and the text can be selected.
"use strict";

(() => {
  // Without a secure context there is no clipboard to write to; selected text can still be copied the old way.
  const copy = async (source) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(source.value ?? source.textContent);
    if (source.select) source.select();
    else window.getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) throw new Error("nothing was copied");
  };

  // What a button says, with what is only said to screen readers.
  const labels = new WeakMap();

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy-from]");
    if (!button) return;
    if (!labels.has(button)) labels.set(button, [...button.childNodes]);
    try {
      await copy(document.getElementById(button.dataset.copyFrom));
      button.textContent = button.dataset.copied;
    } catch {
      button.textContent = button.dataset.copyFailed;
    }
    document.getElementById("live").textContent = button.textContent;
    setTimeout(() => button.replaceChildren(...labels.get(button)), 4000);
  });
})();
