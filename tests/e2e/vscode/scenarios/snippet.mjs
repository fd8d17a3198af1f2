// A snippet of the extension comes with its places to fill in.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("10_nothing_to_say.py", 38);
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
});
