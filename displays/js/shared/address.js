// The audience's address and its QR code, from the server.

const OWN_MACHINE = /^(localhost|127\..*|\[::1\])$/;

/** Why phones cannot open this address, or "". */
export function unreachable(
  address,
  onlyHere = "Only this computer can open this address. For phones start the captions with --host 0.0.0.0.",
) {
  return OWN_MACHINE.test(new URL(address).hostname) ? onlyHere : "";
}

/** Show the address as a link, its QR code in an image, and its problem in a paragraph. */
export function showAddress(address, { link, image, problem }, { qrCode = `QR code of ${address}`, onlyHere } = {}) {
  link.textContent = address.replace(/^http:\/\//, "").replace(/\/$/, "");
  link.href = address;
  image.alt = qrCode;
  image.src = "/qr.svg";
  image.hidden = false;
  problem.textContent = unreachable(address, onlyHere);
  problem.hidden = problem.textContent === "";
}
