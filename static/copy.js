// Buttons that copy the text of a field or a passage. Without scripts they stay hidden, and the text can be selected.
"use strict";

for (const button of document.querySelectorAll("[data-copy-from]")) {
  const source = document.getElementById(button.dataset.copyFrom);
  const label = button.textContent;
  const text = () => source.value ?? source.textContent;

  // Without a secure context there is no clipboard to write to; selected text can still be copied the old way.
  const copy = async () => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text());
    if (source.select) source.select();
    else window.getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) throw new Error("nothing was copied");
  };

  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await copy();
      button.textContent = button.dataset.copied;
    } catch {
      button.textContent = button.dataset.copyFailed;
    }
    document.getElementById("live").textContent = button.textContent;
    setTimeout(() => (button.textContent = label), 4000);
  });
}
