// What is wrong in a cell of a notebook is underlined there, with names from a cell above.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.openNotebook("steps.ipynb");
  const squiggle = page.locator(".notebookOverlay .squiggly-error");
  await squiggle.first().waitFor({ timeout: 60_000 });
  const hover = await workbench.hover(squiggle.first(), "is not bound here");
  check(hover.includes("AX101"), hover);
  // The target is that of the folder.
  await workbench.status().filter({ hasText: "target 8" }).waitFor();
  await workbench.shot("notebook");
});
