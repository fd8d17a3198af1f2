// How a Python is asked whether it can run the server, and how it is told to.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Which MeshLens runs, as the setting `meshlens.importStrategy` names it. */
export type ImportStrategy = "useBundled" | "fromEnvironment";

/** What starts the server. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** A Python that can run the server. */
export interface Python {
  /** The program itself, as it names itself. */
  readonly executable: string;
  readonly version: string;
  /** Whose MeshLens it would run. */
  readonly origin: "bundled" | "environment";
}

/** Why a Python cannot run the server. */
export interface Refusal {
  readonly reason: string;
  /** Whether it is a sentence of its own, as the launcher says it. */
  readonly isSentence: boolean;
}

/**
 * The command that starts the server.
 *
 * @param extension - the folder of the extension
 * @param program - a Python
 * @param strategy - which MeshLens runs
 * @param debug - whether the server says more
 */
export function serverCommand(extension: string, program: string, strategy: ImportStrategy, debug: boolean): Command {
  return {
    program,
    args: [...launcher(extension, strategy), "server"],
    environment: { ...environmentIn(extension), ...(debug ? { MESHLENS_DEBUG: "1" } : {}) },
  };
}

/**
 * Asks a Python, in a process of its own, whether it can run the server.
 *
 * @param extension - the folder of the extension
 * @param program - a Python, or what somebody takes for one
 * @param strategy - which MeshLens would run
 * @param milliseconds - how long it may take
 */
export function check(
  extension: string,
  program: string,
  strategy: ImportStrategy,
  milliseconds: number,
): Promise<Python | Refusal> {
  const options = {
    cwd: extension,
    env: environmentIn(extension),
    timeout: milliseconds,
    killSignal: "SIGKILL",
    windowsHide: true,
  } as const;
  return new Promise((resolve) => {
    execFile(program, [...launcher(extension, strategy), "--check"], options, (error, stdout, stderr) => {
      resolve(readAnswer(stdout) ?? { reason: reasonOf(error, stderr, milliseconds), isSentence: false });
    });
  });
}

/** What the last line of the launcher's output says; undefined if it is no answer. */
export function readAnswer(stdout: string): Python | Refusal | undefined {
  const last = stdout.trim().split("\n").at(-1) ?? "";
  let said: unknown;
  try {
    said = JSON.parse(last);
  } catch {
    return undefined;
  }
  if (typeof said !== "object" || said === null) {
    return undefined;
  }
  const { python, version, origin, refused } = said as Record<string, unknown>;
  if (typeof refused === "string") {
    return { reason: refused, isSentence: true };
  }
  if (typeof python !== "string" || typeof version !== "string") {
    return undefined;
  }
  return { executable: python, version, origin: origin === "environment" ? origin : "bundled" };
}

function launcher(extension: string, strategy: ImportStrategy): string[] {
  const script = join(extension, "bundled", "run.py");
  return strategy === "fromEnvironment" ? [script, "--from-environment"] : [script];
}

/** In a checkout nothing is bundled: the server is that of the checkout, and the environment has what it needs. */
function environmentIn(extension: string): NodeJS.ProcessEnv {
  const checkout = join(extension, "server");
  const isCheckout = !existsSync(join(extension, "bundled", "libs")) && existsSync(checkout);
  return isCheckout ? { ...process.env, PYTHONPATH: checkout } : process.env;
}

function reasonOf(
  error: (Error & { code?: unknown; killed?: boolean }) | null,
  stderr: string,
  milliseconds: number,
): string {
  if (error?.code === "ENOENT") {
    return "there is no such program";
  }
  if (error?.killed === true) {
    return `it did not answer within ${milliseconds / 1000} s`;
  }
  const last = stderr.trim().split("\n").at(-1) ?? "";
  return last === "" ? "it did not answer as Python does" : last;
}
