// The desk's two tabs: live, and setup.

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/** Let each tab of the `role=tablist` element show its panel; `onShow()` runs after a switch. */
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
