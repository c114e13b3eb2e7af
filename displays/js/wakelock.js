// Keep the screen on while the page is looked at. Browsers give this to secure pages only (https or localhost).

/** Hold a screen wake lock whenever the page is visible; where there is none, do nothing. */
export function keepAwake() {
  if (!("wakeLock" in navigator)) return;
  const hold = async () => {
    if (document.visibilityState !== "visible") return;
    try {
      await navigator.wakeLock.request("screen");
    } catch (error) {
      console.info("the screen may go dark:", error.name); // Low battery, for one.
    }
  };
  // The browser drops the lock when the page is hidden.
  document.addEventListener("visibilitychange", hold);
  hold();
}
