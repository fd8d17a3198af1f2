// An environment that has nothing installed runs the server that the extension brings.
import { check, play } from "../driver.mjs";

await play(async (workbench) => {
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  check((await workbench.toasts().count()) === 0, "it complains");
  await workbench.shot("bare");
});
