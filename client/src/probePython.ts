// Asks a Python who it is, in a process of its own and under a time limit.

import { execFile } from "node:child_process";

/** What runs the server at least. */
export const OLDEST = [3, 10] as const;

/** A Python that answered. */
export interface Python {
  /** The program itself, as it names itself. */
  readonly executable: string;
  readonly version: readonly number[];
  /** Whether MeshLens is installed there. */
  readonly hasMeshLens: boolean;
}

/** A Python that did not answer, and why. */
export interface Silent {
  readonly reason: string;
}

// Pythons that are far too old shall still be able to say so.
const QUESTION = `
import json, sys
try:
    from importlib.util import find_spec
    found = find_spec("meshlens") is not None
except Exception:
    found = False
print(json.dumps({"executable": sys.executable, "version": list(sys.version_info[:3]), "hasMeshLens": found}))
`;

/**
 * Runs a Python for a moment and reads what it says of itself.
 *
 * @param program - a path or a name on the PATH
 * @param folder - where it runs; nothing in it may shadow Python's own modules
 * @param milliseconds - how long it may take
 */
export function probePython(program: string, folder: string, milliseconds: number): Promise<Python | Silent> {
  return new Promise((resolve) => {
    const options = { cwd: folder, timeout: milliseconds, killSignal: "SIGKILL", windowsHide: true } as const;
    execFile(program, ["-c", QUESTION], options, (error, stdout, stderr) => {
      if (error) {
        resolve({ reason: reasonOf(error, stderr, milliseconds) });
      } else {
        resolve(readAnswer(stdout));
      }
    });
  });
}

/** Whether this Python can run the server. */
export function isNewEnough(python: Python): boolean {
  const [major = 0, minor = 0] = python.version;
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** What the last line of a Python's output says of it. */
export function readAnswer(stdout: string): Python | Silent {
  const last = stdout.trim().split("\n").at(-1) ?? "";
  try {
    const said = JSON.parse(last) as Partial<Python>;
    if (typeof said.executable === "string" && Array.isArray(said.version)) {
      return { executable: said.executable, version: said.version, hasMeshLens: said.hasMeshLens === true };
    }
  } catch {
    // Falls through: whatever it printed, it was not an answer.
  }
  return { reason: "it did not answer as Python does" };
}

function reasonOf(error: Error & { code?: unknown; killed?: boolean }, stderr: string, milliseconds: number): string {
  if (error.code === "ENOENT") {
    return "there is no such program";
  }
  if (error.killed === true) {
    return `it did not answer within ${milliseconds / 1000} s`;
  }
  return stderr.trim().split("\n").at(-1) || error.message;
}
