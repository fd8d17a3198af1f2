// Which Pythons could run the server, the best one first. Starts none of them.

import { delimiter, isAbsolute, join, relative } from "node:path";

/** A Python that may be there. */
export interface Candidate {
  readonly program: string;
  /** Who named it, for the log and for messages. */
  readonly source: string;
}

/** Where to look. */
export interface Places {
  /** `meshlens.interpreter`, if it is set. */
  readonly setting: string;
  /** What the extensions for Python say, the most specific first. */
  readonly extensions: readonly Candidate[];
  readonly folders: readonly string[];
  readonly path: string;
  readonly platform: NodeJS.Platform;
  readonly trusted: boolean;
  readonly exists: (path: string) => boolean;
}

const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/**
 * The Pythons to try, in order: what the user set, what the extensions for Python chose, the folder's own
 * environment, the PATH. A workspace that is not trusted has no say: neither its environments nor what
 * extensions made of its files are run.
 */
export function candidates(places: Places): Candidate[] {
  const { setting, trusted } = places;
  const found: Candidate[] = [];
  if (setting !== "") {
    found.push(...settingAsPrograms(setting, places).map((program) => ({ program, source: "meshlens.interpreter" })));
  }
  if (trusted) {
    found.push(...places.extensions, ...environments(places));
  }
  found.push(...onPath(places));
  const allowed = trusted ? found : found.filter(({ program }) => !isInside(program, places.folders));
  return allowed.filter((one, index) => allowed.findIndex((other) => other.program === one.program) === index);
}

function settingAsPrograms(setting: string, { folders, trusted }: Places): string[] {
  if (isAbsolute(setting)) {
    return [setting];
  }
  return trusted ? folders.map((folder) => join(folder, setting)) : [];
}

function environments({ folders, platform, exists }: Places): Candidate[] {
  const inside = platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  return folders
    .flatMap((folder) => [".venv", "venv"].map((name) => ({ program: join(folder, name, ...inside), source: name })))
    .filter(({ program }) => exists(program));
}

function onPath({ path, platform, exists }: Places): Candidate[] {
  const suffix = platform === "win32" ? ".exe" : "";
  const rooms = path.split(delimiter).filter((room) => isAbsolute(room));
  return NAMES.flatMap((name) => {
    const program = rooms.map((room) => join(room, name + suffix)).find(exists);
    return program === undefined ? [] : [{ program, source: "PATH" }];
  });
}

function isInside(program: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const way = relative(folder, program);
    return way !== "" && !way.startsWith("..") && !isAbsolute(way);
  });
}
