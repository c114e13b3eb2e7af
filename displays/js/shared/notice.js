// The notice that operators put on every screen.

import { setLanguage } from "./i18n.js";

/** The notice for a reader of `lang`, from `texts` by language: `{lang, text}`; "" for none. */
export function noticeFor(texts, lang) {
  const found = lang in texts ? lang : Object.keys(texts)[0];
  return found === undefined ? { lang, text: "" } : { lang: found, text: texts[found] };
}

/** Show the session's notice in `element`, unless the screen is blank. True if anything changed. */
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
