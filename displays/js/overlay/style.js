// Sets the overlay's options as attributes and custom properties; css/obs.css uses them.

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

/** Apply the `values` (of js/overlay/options.js) to `root`. */
export function applyStyle(root, values) {
  for (const [name, property] of Object.entries(PROPERTIES)) {
    if (values[name]) root.style.setProperty(property, values[name]);
  }
  root.style.setProperty("--width", values.width.replace("%", "vw")); // % of the picture
  root.style.setProperty("--edge-em", `${values.outline / 100}em`);
  root.style.setProperty("--box-opacity", values.opacity / 100);
  for (const name of ATTRIBUTES) root.dataset[name] = values[name];
  if (values.font) root.dataset.font = "own";
  if (values.outline > 0) root.dataset.outlined = "";
  if (values.box !== "none") root.dataset.boxed = "";
}
