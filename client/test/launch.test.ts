import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { check, readAnswer, serverCommand } from "../src/launch";

const room = mkdtempSync(join(tmpdir(), "meshlens-"));
after(() => {
  rmSync(room, { recursive: true });
});

/** A program that answers as it is told, whatever it is asked. */
function program(name: string, script: string): string {
  const path = join(room, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a Python that can run the server says so on its last line", () => {
  const said = { origin: "environment", python: "/opt/python", refused: null, version: "3.12.1" };
  assert.deepEqual(readAnswer(`site says hello\n${JSON.stringify(said)}\n`), {
    executable: "/opt/python",
    version: "3.12.1",
    origin: "environment",
  });
});

test("a Python that cannot says why", () => {
  assert.deepEqual(readAnswer('{"refused": "Python 3.8 is too old", "python": "/p", "version": "3.8.1"}'), {
    reason: "Python 3.8 is too old",
    isSentence: true,
  });
});

test("anything else is no answer", () => {
  for (const output of ["", "hello", "null", "[]", "{}", '{"python": 3}']) {
    assert.equal(readAnswer(output), undefined, output);
  }
});

test("a program is asked by the launcher of the extension, and believed even if it ends badly", async () => {
  const answer = program("old", `echo '{"refused": "too old", "version": "3.8.1"}'; exit 3`);
  assert.deepEqual(await check(room, answer, "useBundled", 10_000), {
    reason: "too old",
    isSentence: true,
  });
  const shown = program("shown", `echo "$@" >&2`);
  const asked = join(room, "bundled", "run.py");
  assert.deepEqual(await check(room, shown, "useBundled", 10_000), {
    reason: `${asked} --check`,
    isSentence: false,
  });
  assert.deepEqual(await check(room, shown, "fromEnvironment", 10_000), {
    reason: `${asked} --from-environment --check`,
    isSentence: false,
  });
});

test("what is no Python is told in a few words", async () => {
  assert.deepEqual(await check(room, join(room, "nowhere"), "useBundled", 10_000), {
    reason: "there is no such program",
    isSentence: false,
  });
  assert.deepEqual(await check(room, program("silent", "exit 0"), "useBundled", 10_000), {
    reason: "it did not answer as Python does",
    isSentence: false,
  });
  assert.deepEqual(await check(room, program("slow", "exec sleep 60"), "useBundled", 100), {
    reason: "it did not answer within 0.1 s",
    isSentence: false,
  });
});

test("in a checkout the server is the checkout's; in the extension nothing is added", () => {
  const checkout = mkdtempSync(join(room, "checkout-"));
  mkdirSync(join(checkout, "server"));
  const command = serverCommand(checkout, "python3", "useBundled", true);
  assert.deepEqual(command.args, [join(checkout, "bundled", "run.py"), "server"]);
  assert.equal(command.environment["PYTHONPATH"], join(checkout, "server"));
  assert.equal(command.environment["MESHLENS_DEBUG"], "1");
  mkdirSync(join(checkout, "bundled", "libs"), { recursive: true });
  const bundled = serverCommand(checkout, "python3", "fromEnvironment", false);
  assert.deepEqual(bundled.args, [join(checkout, "bundled", "run.py"), "--from-environment", "server"]);
  assert.equal(bundled.environment["PYTHONPATH"], process.env["PYTHONPATH"]);
});
