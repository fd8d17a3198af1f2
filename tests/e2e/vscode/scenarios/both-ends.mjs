// Both ends of a typo name each other; a hover begins with what JAX says; lenses show what they count.
import { check, play } from "../driver.mjs";

const FILE = "01_two_files_one_axis/train.py";

await play(async (workbench, page) => {
  await workbench.open(FILE, 19);
  await workbench.ready();
  const name = page.locator(".editor-instance .view-line span", { hasText: '"batch"' }).last();
  const axis = await workbench.hover(name, "No collective uses this axis");
  check(/"bacth"\s+is not bound \(01_two_files_one_axis\/sync.py:8\)/.test(axis), axis);
  await workbench.shot("near-miss");

  await workbench.find(FILE, "jax.pm");
  const map = await workbench.hoverAtCaret("in JAX's docs");
  check(map.replaceAll("\u00a0", " ").includes("jax.pmap(fun, axis_name=None, *, in_axes=0"), map);
  check(map.includes("Maps a function over an axis of its arguments"), map);
  await workbench.shot("hover-map");
  await page.keyboard.press("Escape");

  const lens = (text) => page.locator(".codelens-decoration a", { hasText: text }).first();
  await lens("axis batch").click();
  await page.locator(".pane-header[aria-expanded='true']", { hasText: "Devices and Meshes" }).waitFor();
  await workbench.faded("lens-meshes");

  await lens("is not bound").click();
  await page.locator(".peekview-title", { hasText: "sync.py" }).waitFor();
  await workbench.faded("lens-references");
});
