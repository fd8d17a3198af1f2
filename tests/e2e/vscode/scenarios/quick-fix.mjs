// The light bulb offers the name that is bound; after it nothing is underlined any more.
import { check, play } from "../driver.mjs";

await play(async (workbench) => {
  await workbench.find("01_two_files_one_axis/sync.py", '"bac');
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  await workbench.act('change to "batch"', "quick-fix");
  await workbench.squiggles().first().waitFor({ state: "detached" });
  check((await workbench.text()).includes('axis_name="batch"), tree)'), await workbench.text());
  await workbench.save("01_two_files_one_axis/sync.py", (text) => text.includes('axis_name="batch"'));
});
