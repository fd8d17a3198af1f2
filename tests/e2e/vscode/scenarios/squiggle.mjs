// A typo is underlined, and the problem says where the function is mapped and called, in another file.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  const hover = await workbench.hover(workbench.squiggles().first(), "did you mean");
  check(hover.includes('axis "bacth" is not bound here (bound: "batch")'), hover);
  await workbench.shot("squiggle");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Shift+m");
  const rows = page.locator(".markers-panel .monaco-list-row");
  await rows.filter({ hasText: "is not bound here" }).first().waitFor();
  const problem = rows.filter({ hasText: "is not bound here" }).first();
  // The rows move while findings in other files arrive, so a click may hit another one.
  for (let turn = 0; ; turn += 1) {
    await problem.click();
    await page.keyboard.press("ArrowRight");
    try {
      await rows.filter({ hasText: "train_step is mapped here" }).first().waitFor({ timeout: 5000 });
      await rows.filter({ hasText: "average is called here" }).first().waitFor({ timeout: 5000 });
      break;
    } catch (error) {
      if (turn === 5) throw error;
      await page.keyboard.press("Home");
    }
  }
  await workbench.shot("problems");
  return { related: await rows.allInnerTexts() };
});
