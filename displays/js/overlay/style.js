// The overlay's options as attributes and custom properties of the document, which css/obs.css turns into looks.

const PROPERTIES = {
  lines: "--lines",
  size: "--size",
  font: "--font",
  weight: "--weight",
  color: "--ink",
  edge: "--edge",
  box: "--box",
  background: "--background",
  margin: "--margin",
};
const ATTRIBUTES = ["position", "align", "show", "case", "partials"];

/** Give `root` the looks that `values` (of js/overlay/options.js) ask for. */
export function applyStyle(root, values) {
  for (const [name, property] of Object.entries(PROPERTIES)) {
    if (values[name]) root.style.setProperty(property, values[name]);
  }
  root.style.setProperty("--width", values.width.replace("%", "vw")); // of the picture, not of what the margin leaves
  root.style.setProperty("--edge-em", `${values.outline / 100}em`);
  root.style.setProperty("--box-opacity", values.opacity / 100);
  for (const name of ATTRIBUTES) root.dataset[name] = values[name];
  if (values.font) root.dataset.font = "own";
  if (values.outline > 0) root.dataset.outlined = "";
  if (values.box !== "none") root.dataset.boxed = "";
}
