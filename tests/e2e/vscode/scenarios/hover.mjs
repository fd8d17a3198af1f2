// On the name of an axis a hover tells who binds it and who uses it.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("train.py", 19);
  const name = page.locator(".view-line span", { hasText: /^"batch"$/ }).last();
  const hover = await workbench.hover(name, "batch");
  check(/Axis name/.test(hover), hover);
  await workbench.shot("hover");
  return { hover };
});
