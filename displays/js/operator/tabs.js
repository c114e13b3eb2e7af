// The desk's two parts: what is said now, and what is set up before.

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/** Let the tabs in the element with `role=tablist` show the part that each controls; `onShow()` hears of another part. */
export function listenForTabs(tablist, onShow) {
  const tabs = [...tablist.querySelectorAll("[role=tab]")];
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    onShow();
  };
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
  tablist.addEventListener("keydown", ({ key, target }) => {
    if (!(key in STEPS)) return;
    const next = tabs[(tabs.indexOf(target) + STEPS[key] + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}
