// Runs inside the extension host, as VS Code's own test runner does: MESHLENS_TEST_OUT gets a line for each test.

import { appendFileSync, renameSync } from "node:fs";
import * as vscode from "vscode";
import { open, type Tests } from "./harness";
import { pretended } from "./pretended";
import { real } from "./real";

export async function run(): Promise<void> {
  const out = process.env["MESHLENS_TEST_OUT"] ?? "host-tests.jsonl";
  const partial = `${out}.partial`;
  const only = process.env["MESHLENS_TEST_ONLY"] ?? "";
  const suites: Record<string, Tests> = { real, pretended };
  await open("single.py");
  await vscode.extensions.getExtension("meshlens.meshlens")?.activate();
  for (const [suite, tests] of Object.entries(suites)) {
    for (const [name, test] of Object.entries(tests)) {
      if (`${suite}: ${name}`.includes(only)) {
        const begun = Date.now();
        const failure = await test().then(
          () => null,
          (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
        );
        appendFileSync(partial, `${JSON.stringify({ suite, name, failure, milliseconds: Date.now() - begun })}\n`);
      }
    }
  }
  renameSync(partial, out);
}
