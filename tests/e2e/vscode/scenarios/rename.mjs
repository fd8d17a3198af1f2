// F2 on the name of an axis renames it wherever it is meant, in two files at once.
import { play } from "../driver.mjs";

const SYNC = "01_two_files_one_axis/sync.py";
const TRAIN = "01_two_files_one_axis/train.py";

await play(async (workbench, page) => {
  await workbench.find(SYNC, 'axis_name="ba');
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  await workbench.act('change to "batch"');
  await workbench.squiggles().first().waitFor({ state: "detached" });
  await workbench.find(TRAIN, 'axis_name="ba');
  await page.keyboard.press("F2");
  const box = page.locator(".rename-box input").first();
  await box.waitFor();
  await box.fill("devices");
  await workbench.shot("rename");
  await page.keyboard.press("Enter");
  await box.waitFor({ state: "hidden" });
  await workbench.save(TRAIN, (text) => text.includes('axis_name="devices"') && !text.includes('"batch"'));
  await workbench.save(SYNC, (text) => text.includes('axis_name="devices"'));
});
