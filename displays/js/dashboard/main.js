// The page of all services, made by `stark-translate dashboard`: fetched with the operator's token.

import { Archive } from "../shared/archive.js";
import { onToken } from "../shared/operator_token.js";

const at = (id) => document.getElementById(id);
const STYLE = /<style>([^]*?)<\/style>/;
const archive = new Archive();

/** Replace this page with its body and its style only. */
function show(text) {
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE.exec(text)?.[1] ?? "");
  // The style is cut out of the text: the policy of these pages forbids inline styles.
  const made = new DOMParser().parseFromString(text.replace(STYLE, ""), "text/html");
  for (const link of document.querySelectorAll("link[rel=stylesheet]")) link.remove();
  document.adoptedStyleSheets = [style];
  document.body.replaceChildren(...made.body.childNodes);
  document.title = made.title;
}

function refused(error) {
  const asks = error.why === "needed" || error.why === "wrong";
  at("login").hidden = !asks;
  at("problem").hidden = asks;
  at("problem").textContent = asks ? "" : error.message;
  at("login-problem").textContent = error.why === "wrong" ? error.message : "";
  if (error.why === "wrong") at("token").focus();
}

async function open() {
  try {
    show(await archive.dashboard());
  } catch (error) {
    refused(error);
  }
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  archive.use(at("token").value.trim());
  open();
});
onToken((token) => {
  archive.use(token);
  // After the page of services is shown, the login form does not exist.
  if (at("login")) open();
});
open();
