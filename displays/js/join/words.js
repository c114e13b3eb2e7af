// The poster's three steps, in the languages of the pages.

export const STEPS = {
  en: { wifi: "Join the Wi-Fi", scan: "Scan the code", read: "Read, or listen with headphones" },
  es: { wifi: "Conéctese a la wifi", scan: "Escanee el código", read: "Lea, o escuche con auriculares" },
  fr: { wifi: "Connectez-vous au Wi-Fi", scan: "Scannez le code", read: "Lisez, ou écoutez au casque" },
  de: { wifi: "Mit dem WLAN verbinden", scan: "Code scannen", read: "Mitlesen, oder mit Kopfhörern zuhören" },
  pt: { wifi: "Conecte-se ao Wi-Fi", scan: "Leia o código com a câmera", read: "Leia, ou ouça com fones" },
  ko: { wifi: "와이파이에 연결하세요", scan: "코드를 스캔하세요", read: "읽거나 이어폰으로 들으세요" },
  zh: { wifi: "连接无线网络", scan: "扫描二维码", read: "阅读，或用耳机收听" },
  ar: { wifi: "اتصل بشبكة الواي فاي", scan: "امسح الرمز", read: "اقرأ، أو استمع بسماعات الأذن" },
};
