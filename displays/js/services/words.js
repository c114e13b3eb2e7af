// Names of file types and session types, in the languages of the pages.

const NAMES = {
  en: { docx: "Word", html: "Web page", srt: "Subtitles (SRT)", vtt: "Subtitles (VTT)", txt: "Text", md: "Text with headings (Markdown)", "dry-run": "rehearsal", demo: "demonstration", replay: "replay" },
  es: { docx: "Word", html: "Página web", srt: "Subtítulos (SRT)", vtt: "Subtítulos (VTT)", txt: "Texto", md: "Texto con títulos (Markdown)", "dry-run": "ensayo", demo: "demostración", replay: "repetición" },
  fr: { docx: "Word", html: "Page web", srt: "Sous-titres (SRT)", vtt: "Sous-titres (VTT)", txt: "Texte", md: "Texte avec titres (Markdown)", "dry-run": "répétition", demo: "démonstration", replay: "rediffusion" },
  de: { docx: "Word", html: "Webseite", srt: "Untertitel (SRT)", vtt: "Untertitel (VTT)", txt: "Text", md: "Text mit Überschriften (Markdown)", "dry-run": "Probe", demo: "Vorführung", replay: "Wiedergabe" },
  pt: { docx: "Word", html: "Página da web", srt: "Legendas (SRT)", vtt: "Legendas (VTT)", txt: "Texto", md: "Texto com títulos (Markdown)", "dry-run": "ensaio", demo: "demonstração", replay: "reprodução" },
  ko: { docx: "Word", html: "웹 페이지", srt: "자막 (SRT)", vtt: "자막 (VTT)", txt: "텍스트", md: "제목이 있는 텍스트 (Markdown)", "dry-run": "리허설", demo: "시연", replay: "다시 보기" },
  zh: { docx: "Word", html: "网页", srt: "字幕 (SRT)", vtt: "字幕 (VTT)", txt: "文本", md: "带标题的文本 (Markdown)", "dry-run": "彩排", demo: "演示", replay: "重播" },
  ar: { docx: "Word", html: "صفحة ويب", srt: "ترجمة نصية (SRT)", vtt: "ترجمة نصية (VTT)", txt: "نص", md: "نص بعناوين (Markdown)", "dry-run": "تجربة", demo: "عرض", replay: "إعادة" },
};

/** File types for people, the most wanted first. */
export const FOR_PEOPLE = ["docx", "html", "srt", "vtt", "txt", "md"];

/** The name of a file or session type in a page language; the key itself if it is unknown. */
export function nameOf(key, lang) {
  return NAMES[lang][key] ?? key;
}
