// The audience page's first socket, opened while modules and styles are still on their way, and asking for few captions at
// first: on a slow phone both together save the better part of a second. No module, since those wait for one another.
// js/audience/main.js takes the socket over, with what has come by then.

if (!("preconnect" in window)) {
  const query = new URLSearchParams({ kind: "audience", history: 16 });
  // As in js/audience/preferences.js: "fr-CA" is French, and what is no language is left out.
  let lang = /^[a-z]{2,3}(?![a-z])/i.exec(new URLSearchParams(location.search).get("lang"))?.[0].toLowerCase();
  try {
    lang ||= (JSON.parse(localStorage.getItem("stark-translate")) ?? {}).lang;
  } catch {
    // Storage is forbidden here: the browser's own languages, as in js/audience/preferences.js.
  }
  if (lang) query.set("lang", lang);
  else query.set("prefer", navigator.languages.join());
  const events = [];
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws?${query}`);
  socket.onopen = socket.onmessage = socket.onclose = (event) => events.push(event);
  window.preconnect = { webSocket: socket, events };
}
