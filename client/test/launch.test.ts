import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Begun, begin, beginProgram, readAnswer, type Refusal, serverCommand } from "../src/launch";

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

/** Starts a program as the server's Python; gives what came of it, and what was logged. */
async function started(path: string, milliseconds = 10_000): Promise<[Begun | Refusal, string[]]> {
  const lines: string[] = [];
  const command = serverCommand(room, path, "useBundled", false);
  const answer = await begin(command, room, milliseconds, (line) => lines.push(line));
  return [answer, lines];
}

test("a Python that can run the server says so in a line", () => {
  const said = { origin: "environment", python: "/opt/python", refused: null, version: "3.12.1" };
  assert.deepEqual(readAnswer(JSON.stringify(said)), {
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

test("what has said that it runs is the server; what it says on stderr is logged, before that and after", async () => {
  const answer = '{"origin": "bundled", "python": "/opt/python", "refused": null, "version": "3.12.1"}';
  const path = program("able", `echo warned >&2; echo '${answer}' >&2; echo "$@" >&2; read line; echo "$line"`);
  const [begun, lines] = await started(path);
  assert.ok("process" in begun);
  assert.equal(begun.python.executable, "/opt/python");
  begun.process.stdin.write("hello\n");
  const [said] = (await once(begun.process.stdout, "data")) as [Buffer];
  assert.equal(said.toString(), "hello\n");
  await once(begun.process, "close");
  assert.deepEqual(lines, ["warned", `-I ${join(room, "bundled", "run.py")} --tell server`]);
});

test("the server that the extension brings sees nothing of the environment", () => {
  const extension = join(room, "extension");
  mkdirSync(join(extension, "bundled", "libs"), { recursive: true });
  const script = join(extension, "bundled", "run.py");
  assert.deepEqual(serverCommand(extension, "python3", "useBundled", false).args, [
    "-I",
    "-S",
    script,
    "--tell",
    "server",
  ]);
  assert.deepEqual(serverCommand(extension, "python3", "fromEnvironment", false).args.slice(0, 2), ["-I", script]);
});

test("a program that refuses is believed, and what is no Python is told in a few words", async () => {
  const refusing = program("old", `echo '{"refused": "too old", "version": "3.8.1"}' >&2; exit 3`);
  assert.deepEqual(await started(refusing), [{ reason: "too old", isSentence: true }, []]);
  for (const [path, reason] of [
    [join(room, "nowhere"), "no such program"],
    [program("silent", "exit 0"), "it did not answer like Python"],
    [program("broken", "echo first >&2; echo last >&2; exit 1"), "last"],
    [program("ancient", "echo 'Unknown option: -I' >&2; echo usage >&2; exit 2"), "it is older than Python 3.4"],
    [program("talking", "seq 1000; exit 1"), "it did not answer like Python"],
  ] as const) {
    assert.deepEqual(await started(path), [{ reason, isSentence: false }, []]);
  }
  const slow = { reason: "it did not answer within 0.1 s", isSentence: false };
  assert.deepEqual(await started(program("slow", "exec sleep 60"), 100), [slow, []]);
});

test("a program that is a server by itself is started as it is, if it is there", async () => {
  const lines: string[] = [];
  const begun = await beginProgram([program("own", 'echo "$@" >&2'), "--stdio"], room, (line) => lines.push(line));
  await once(begun, "close");
  assert.deepEqual(lines, ["--stdio"]);
  await assert.rejects(
    beginProgram([join(room, "nowhere")], room, () => undefined),
    /ENOENT/,
  );
});

test("in a checkout the launcher finds the server beside itself, and the user's environment stays as it is", () => {
  const checkout = mkdtempSync(join(room, "checkout-"));
  mkdirSync(join(checkout, "server"));
  const script = join(checkout, "bundled", "run.py");
  const command = serverCommand(checkout, "python3", "useBundled", true);
  assert.deepEqual(command.args, ["-I", script, "--tell", "server"]);
  assert.equal(command.environment["PYTHONPATH"], process.env["PYTHONPATH"]);
  assert.equal(command.environment["MESHLENS_DEBUG"], "1");
  mkdirSync(join(checkout, "bundled", "libs"), { recursive: true });
  const bundled = serverCommand(checkout, "python3", "fromEnvironment", false);
  assert.deepEqual(bundled.args, ["-I", script, "--tell", "--from-environment", "server"]);
});
