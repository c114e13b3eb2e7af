// Keeps the screen on while the page is visible. Browsers offer wake locks only to secure pages
// (https or localhost). A church's own network has none: a black, silent video does the same there.

const WAKES = ["pointerdown", "keydown"]; // Some phones play nothing before the first touch.

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
  // Not `loop`: iPhones let the screen go dark over a looping video.
  video.addEventListener("ended", play);
  document.addEventListener("visibilitychange", play);
  for (const name of WAKES) document.addEventListener(name, play, { once: true });
  document.body.append(video);
  play();
}

function requestLock() {
  return navigator.wakeLock.request("screen");
}

/** Keep the screen on from now on. True with a wake lock, false with only the video. */
export async function keepAwake() {
  try {
    if (!("wakeLock" in navigator)) throw new Error("not a secure page");
    await requestLock();
  } catch (error) {
    console.info("no wake lock:", error.message);
    playVideo();
    return false;
  }
  // The browser releases the lock when the page is hidden.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") requestLock().catch((error) => console.info("no wake lock:", error.message));
  });
  return true;
}
