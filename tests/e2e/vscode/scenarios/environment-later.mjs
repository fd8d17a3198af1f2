// An environment that is made while the window runs is noticed within seconds, and its JAX is asked for devices.
import fs from "node:fs";
import path from "node:path";
import { check, play } from "../driver.mjs";

await play(async (workbench) => {
  await workbench.open("sync.py", 8);
  await workbench.ready();
  const before = await workbench.status().innerText();
  check(!before.includes("here 4 CPU"), before);
  // The test has made it beside the workspace.
  fs.renameSync(path.join(workbench.workspace, "..", "environment"), path.join(workbench.workspace, ".venv"));
  const began = Date.now();
  await workbench.status().filter({ hasText: "here 4 CPU" }).waitFor({ timeout: 60_000 });
  const seconds = (Date.now() - began) / 1000;
  await workbench.shot("environment-later");
  return { seconds };
});
