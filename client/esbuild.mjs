// Bundles the extension into dist: what an activation needs, and the client of the protocol, which is loaded later;
// with `--tests`, each test into client/out.

import { build, context } from "esbuild";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const client = fileURLToPath(new URL(".", import.meta.url));
const tests = process.argv.includes("--tests");

const MOST_BYTES = { "extension.js": 100_000, "protocolClient.js": 500_000 };
const shared = {
  absWorkingDir: client,
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  logLevel: "warning",
  platform: "node",
  target: "node20",
};

if (tests) {
  const found = readdirSync(join(client, "test")).filter((name) => name.endsWith(".test.ts"));
  found.push("host/run.ts", "host/pretender.ts");
  await build({
    ...shared,
    entryPoints: found.map((name) => join("test", name)),
    outbase: "test",
    outdir: "out",
    sourcemap: "inline",
  });
} else {
  const options = {
    ...shared,
    entryPoints: ["src/extension.ts", "src/protocolClient.ts"],
    external: [...shared.external, "./protocolClient"],
    outdir: "../dist",
    minify: true,
    // VS Code gives its own interface to what is required.
    supported: { "dynamic-import": false },
  };
  if (process.argv.includes("--watch")) {
    await (await context({ ...options, minify: false, sourcemap: true })).watch();
  } else {
    await build(options);
    for (const [name, most] of Object.entries(MOST_BYTES)) {
      const { size } = statSync(join(client, options.outdir, name));
      if (size > most) {
        throw new Error(`${name} has ${size} bytes, more than ${most}`);
      }
    }
  }
}
