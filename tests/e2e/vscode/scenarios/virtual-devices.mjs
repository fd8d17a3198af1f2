// "Run on Virtual Devices" runs the file on the Python that the debug information names.
import fs from "node:fs";
import path from "node:path";
import { check, play } from "../driver.mjs";

// A terminal is a picture: the program writes down what it would print.
const PROGRAM = `import os, sys
from pathlib import Path

print(sys.executable)
Path(__file__).with_suffix(".txt").write_text(f"{sys.executable} {os.environ['JAX_NUM_CPU_DEVICES']}")
`;

await play(async (workbench, page) => {
  fs.writeFileSync(path.join(workbench.workspace, "which.py"), PROGRAM);
  await workbench.open("which.py");
  await workbench.ready();
  await workbench.command("MeshLens: Run on Virtual Devices");
  check((await workbench.answer("Number of virtual CPU devices", "6")) === "8", "the target is not offered");
  const python = path.join(workbench.workspace, ".venv", "bin", "python");
  const said = path.join(workbench.workspace, "which.txt");
  await workbench.until(() => fs.existsSync(said) && workbench.read("which.txt") !== "", () => "it does not run");
  check(workbench.read("which.txt") === `${python} 6`, workbench.read("which.txt"));
  await workbench.faded("virtual-devices");
  await workbench.command("MeshLens: Print Debug Information");
  const debug = page.locator(".editor-instance .view-line", { hasText: `interpreter: ${python}` });
  await debug.first().waitFor();
});
