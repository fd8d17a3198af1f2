// A snippet comes with its places to fill in, and its imports join those of the file.
import { check, play } from "../driver.mjs";

const FILE = "10_nothing_to_say.py";

await play(async (workbench, page) => {
  await workbench.open(FILE, 38);
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("pmap-st", { delay: 40 });
  const row = page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "pmap-step" }).first();
  await row.waitFor();
  await page.waitForTimeout(500);
  await workbench.shot("snippet");
  await row.click();
  await page.locator(".snippet-placeholder").first().waitFor();
  const text = await workbench.text();
  check(text.includes('@functools.partial(jax.pmap, axis_name="batch")'), text);
  await page.keyboard.press("Escape");
  await workbench.save(FILE, (saved) => saved.includes("pmean"));
  const saved = workbench.read(FILE);
  check(saved.match(/^import jax$/gm).length === 1, `it imports jax again:\n${saved}`);
  check(saved.indexOf("import functools") < saved.indexOf("import jax\n"), `it imports where it stands:\n${saved}`);
});
