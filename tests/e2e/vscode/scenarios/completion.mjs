// Inside the quotes of an axis name, the names that are bound there are offered.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.find("01_two_files_one_axis/sync.py", 'axis_name="bacth');
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  for (let turn = 0; turn < "bacth".length; turn += 1) await page.keyboard.press("Backspace");
  await page.keyboard.press("Control+Space");
  const row = page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "batch" }).first();
  await row.waitFor();
  await page.waitForTimeout(500);
  await workbench.shot("completion");
  await row.click();
  await workbench.until(async () => (await workbench.text()).includes('axis_name="batch")'), () => workbench.text());
  await workbench.squiggles().first().waitFor({ state: "detached" });
  check(!(await workbench.text()).includes('batch""'), await workbench.text());
});
