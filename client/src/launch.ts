// The command line that makes a Python run the server, and its first answer: whether it can.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Which copy of MeshLens runs, as in the setting `meshlens.importStrategy`. */
export type ImportStrategy = "useBundled" | "fromEnvironment";

/** The command that starts the server. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** A Python that runs the server. */
export interface Python {
  /** The path that the program reports for itself. */
  readonly executable: string;
  readonly version: string;
  /** Which copy of MeshLens it runs. */
  readonly origin: "bundled" | "environment";
}

/** Why a Python cannot run the server. */
export interface Refusal {
  readonly reason: string;
  /** Whether the reason is a complete sentence from the launcher. */
  readonly isSentence: boolean;
}

export type ServerProcess = ChildProcessWithoutNullStreams;

/** A started server: it reads the client's messages once it has loaded. */
export interface Begun {
  readonly process: ServerProcess;
  readonly python: Python;
}

/**
 * Returns the command that starts the server.
 *
 * @param extension - the folder of the extension
 * @param program - a Python, or what may be one
 * @param strategy - which copy of MeshLens runs
 * @param debug - whether the server logs more
 */
export function serverCommand(extension: string, program: string, strategy: ImportStrategy, debug: boolean): Command {
  const script = join(extension, "bundled", "run.py");
  const options = strategy === "fromEnvironment" ? ["--tell", "--from-environment"] : ["--tell"];
  return {
    program,
    args: [...isolation(extension, strategy), script, ...options, "server"],
    environment: { ...process.env, ...(debug ? { MESHLENS_DEBUG: "1" } : {}) },
  };
}

/**
 * Starts the server, and waits until its Python reports whether it can run it.
 *
 * @param command - the result of {@link serverCommand}
 * @param folder - its working directory
 * @param milliseconds - how long the Python may take to report
 * @param log - receives the server's stderr
 */
export function begin(
  command: Command,
  folder: string,
  milliseconds: number,
  log: (line: string) => void,
): Promise<Begun | Refusal> {
  const told = new Promise<Begun | Refusal>((resolve) => {
    const process = run(command, folder);
    const before: string[] = [];
    let answer: Python | Refusal | undefined;
    const refuse = (reason: string) => {
      clearTimeout(timer);
      resolve({ reason, isSentence: false });
    };
    const timer = setTimeout(() => {
      process.kill("SIGKILL");
      refuse(`it did not answer within ${milliseconds / 1000} s`);
    }, milliseconds);
    process.on("error", (error: Error & { code?: unknown }) => {
      refuse(error.code === "ENOENT" ? "no such program" : error.message);
    });
    process.on("close", () => {
      const isAncient = before.some((line) => line.startsWith("Unknown option: -I"));
      refuse(isAncient ? "it is older than Python 3.4" : (before.at(-1) ?? "it did not answer like Python"));
    });
    createInterface({ input: process.stderr }).on("line", (line) => {
      if (answer !== undefined) {
        log(line);
        return;
      }
      answer = readAnswer(line);
      if (answer === undefined) {
        before.push(line);
        return;
      }
      clearTimeout(timer);
      if ("reason" in answer) {
        resolve(answer);
      } else {
        before.forEach(log);
        resolve({ process, python: answer });
      }
    });
  });
  // Some programs cannot even be started.
  return told.catch((error: unknown) => ({ reason: String(error), isSentence: false }));
}

/**
 * Starts a program that is itself the server.
 *
 * @param command - the program and its arguments
 * @param folder - its working directory
 * @param log - receives its stderr
 */
export async function beginProgram(
  [program = "", ...args]: readonly string[],
  folder: string,
  log: (line: string) => void,
): Promise<ServerProcess> {
  const begun = run({ program, args, environment: process.env }, folder);
  await once(begun, "spawn");
  begun.on("error", (error) => {
    log(error.message);
  });
  createInterface({ input: begun.stderr }).on("line", log);
  return begun;
}

/** Runs the server in the extension's folder, because Python searches its working directory for modules first. */
function run({ program, args, environment }: Command, folder: string): ServerProcess {
  return spawn(program, args, { cwd: folder, env: environment, windowsHide: true });
}

/** Reads the launcher's answer from a line; undefined if the line is something else. */
export function readAnswer(line: string): Python | Refusal | undefined {
  let said: unknown;
  try {
    said = JSON.parse(line);
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

/**
 * Returns options that keep Python from importing modules from the working directory or PYTHONPATH and, if the extension
 * bundles all that the server needs, from running the `.pth` files and the `sitecustomize` of its environment.
 */
function isolation(extension: string, strategy: ImportStrategy): readonly string[] {
  const isWhole = strategy === "useBundled" && existsSync(join(extension, "bundled", "libs"));
  return isWhole ? ["-I", "-S"] : ["-I"];
}
