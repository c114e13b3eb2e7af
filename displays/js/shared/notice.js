// The notice that operators put on every screen.

import { setLanguage } from "./i18n.js";

/** What a reader of `lang` reads of a notice with these `texts` by language: `{lang, text}`; without text none stands. */
export function noticeFor(texts, lang) {
  const found = lang in texts ? lang : Object.keys(texts)[0];
  return found === undefined ? { lang, text: "" } : { lang: found, text: texts[found] };
}

/** Show the notice of a session in `element`, unless all is blank. True if that has changed anything. */
export function renderNotice(element, session) {
  const { lang, text } = noticeFor(session.notice, session.lang);
  const isHidden = text === "" || session.isBlank;
  const hasChanged = element.hidden !== isHidden || element.textContent !== text;
  if (!hasChanged) return false;
  element.hidden = isHidden;
  element.textContent = text;
  setLanguage(element, lang);
  return true;
}
