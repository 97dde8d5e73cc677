/* How many proposals wait, outside the page: a dot on the tab's icon, a number on the installed app's, and, for those who
   asked for it in Settings, a notice when something comes while the page is in the background. Nothing is asked unasked. */
"use strict";

(() => {
  const KEY = "assent-notices";
  const icon = document.querySelector("link[rel=icon][data-waiting]");
  if (!icon) return;
  const plain = icon.getAttribute("href");
  let told = 0;

  const wanted = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "on";

  const show = () => {
    const arrived = document.querySelector("[data-arrived]");
    const number = Number.parseInt(arrived?.dataset.arrived ?? "0", 10);
    const waiting = Number.parseInt(document.querySelector("#waiting .count")?.textContent ?? "0", 10) + number;
    const href = waiting ? icon.dataset.waiting : plain;
    if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
    if (navigator.setAppBadge) (waiting ? navigator.setAppBadge(waiting) : navigator.clearAppBadge()).catch(() => {});
    if (number > told && document.hidden && wanted()) {
      const notice = new Notification(arrived.dataset.notice, { tag: "assent", icon: icon.dataset.large });
      notice.addEventListener("click", () => {
        window.focus();
        notice.close();
      });
    }
    told = number;
  };

  show();
  document.body.addEventListener("htmx:afterSettle", show);
  document.body.addEventListener("htmx:oobAfterSwap", show);

  // The section of Settings; without scripts, or where the browser has no notices, it is not there.
  const section = document.querySelector("[data-notices]");
  if (!section || !("Notification" in window)) return;
  const button = section.querySelector("button");
  const state = () => {
    button.textContent = wanted() ? button.dataset.off : button.dataset.on;
    section.querySelector("[data-notices-denied]").hidden = Notification.permission !== "denied";
    button.disabled = Notification.permission === "denied";
  };
  button.addEventListener("click", async () => {
    if (wanted()) localStorage.removeItem(KEY);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(KEY, "on");
    state();
  });
  section.hidden = false;
  state();
})();
