// In a folder that is not trusted no interpreter of it is started, and findings come all the same.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  check((await workbench.toasts().count()) === 0, "it complains");
  await workbench.shot("restricted");
});
