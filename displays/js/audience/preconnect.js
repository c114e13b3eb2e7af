// The audience page's first socket. It opens while modules and styles still load, and asks for few
// captions: on a slow phone both save most of a second. Not a module: modules wait for one another.
// js/audience/main.js takes over the socket and the messages that have arrived.

if (!("preconnect" in window)) {
  const query = new URLSearchParams({ kind: "audience", history: 16 });
  // As in js/audience/preferences.js: "fr-CA" is French, and an invalid tag is ignored.
  let lang = /^[a-z]{2,3}(?![a-z])/i.exec(new URLSearchParams(location.search).get("lang"))?.[0].toLowerCase();
  try {
    lang ||= (JSON.parse(localStorage.getItem("stark-translate")) ?? {}).lang;
  } catch {
    // Storage is forbidden: use the browser's languages, as js/audience/preferences.js does.
  }
  if (lang) query.set("lang", lang);
  else query.set("prefer", navigator.languages.join());
  const events = [];
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws?${query}`);
  socket.onopen = socket.onmessage = socket.onclose = (event) => events.push(event);
  window.preconnect = { webSocket: socket, events };
}
