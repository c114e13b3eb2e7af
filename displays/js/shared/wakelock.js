// Keep the screen on while the page is looked at. Browsers give the lock made for it to secure pages only (https or
// localhost), and a church's own network has none: there a black video without a sound, behind the page, does the same.

const WAKES = ["pointerdown", "keydown"]; // Some phones play nothing before the page has been touched.

function playVideo() {
  const video = document.createElement("video");
  video.className = "awake";
  video.src = "/awake.mp4";
  video.muted = video.playsInline = video.disableRemotePlayback = true;
  video.tabIndex = -1;
  video.setAttribute("aria-hidden", "true");
  const play = () => {
    if (document.visibilityState === "visible") video.play().catch((error) => console.info("no video:", error.name));
  };
  // Not `loop`: iPhones let the screen go dark over a video that has it.
  video.addEventListener("ended", play);
  document.addEventListener("visibilitychange", play);
  for (const name of WAKES) document.addEventListener(name, play, { once: true });
  document.body.append(video);
  play();
}

function requestLock() {
  return navigator.wakeLock.request("screen");
}

/** Keep the screen on from now on. True if the browser promises to, false if all we could do is play the video. */
export async function keepAwake() {
  try {
    if (!("wakeLock" in navigator)) throw new Error("not a secure page");
    await requestLock();
  } catch (error) {
    console.info("no wake lock:", error.message);
    playVideo();
    return false;
  }
  // The browser drops the lock when the page is hidden.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") requestLock().catch((error) => console.info("no wake lock:", error.message));
  });
  return true;
}
