// Bundles the extension into dist/extension.js; with `--tests`, each test into client/out.

import { build, context } from "esbuild";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const client = fileURLToPath(new URL(".", import.meta.url));
const tests = process.argv.includes("--tests");

const MOST_BYTES = 600_000;
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
  const options = { ...shared, entryPoints: ["src/extension.ts"], outfile: "../dist/extension.js", minify: true };
  if (process.argv.includes("--watch")) {
    await (await context({ ...options, minify: false, sourcemap: true })).watch();
  } else {
    await build(options);
    const { size } = statSync(join(client, options.outfile));
    if (size > MOST_BYTES) {
      throw new Error(`${options.outfile} has ${size} bytes, more than ${MOST_BYTES}`);
    }
  }
}
