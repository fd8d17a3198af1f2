// Which Pythons could run the server, the best one first. Starts none of them.

import { posix, win32 } from "node:path";

/** A Python that may be there. */
export interface Candidate {
  readonly program: string;
  /** Who named it, for the log and for messages. */
  readonly source: string;
}

/** Where to look. */
export interface Places {
  /** `meshlens.interpreter`; empty if it is not set. */
  readonly setting: string;
  /** What the extensions for Python say, the best first. */
  readonly extensions: readonly Candidate[];
  /** `python.defaultInterpreterPath`; empty if it is not set. */
  readonly defaultOfPython: string;
  readonly folders: readonly string[];
  readonly path: string;
  readonly platform: NodeJS.Platform;
  readonly trusted: boolean;
  readonly exists: (path: string) => boolean;
}

const ENVIRONMENTS = [".venv", "venv"];
const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/**
 * The Pythons to try, in order: what the user set for MeshLens, what the extensions for Python say, what is set for
 * them, the folder's own environment, the PATH.
 *
 * A workspace that is not trusted has no say: neither what lies in it is run nor what extensions made of it.
 */
export function candidates(places: Places): Candidate[] {
  const { setting, trusted, extensions, defaultOfPython, folders } = places;
  const all = [
    ...programs(setting, "meshlens.interpreter", places),
    ...(trusted ? [...extensions, ...programs(defaultOfPython, "python.defaultInterpreterPath", places)] : []),
    ...(trusted ? environments(places) : []),
    ...onPath(places),
  ];
  const allowed = trusted ? all : all.filter(({ program }) => !isInside(program, folders, places.platform));
  return allowed.filter((one, index) => allowed.findIndex((other) => other.program === one.program) === index);
}

function programs(setting: string, source: string, { folders, trusted, platform }: Places): Candidate[] {
  const paths = pathOf(platform);
  const inFolder = /^\$\{workspaceFolder\}[\\/]/;
  if (paths.isAbsolute(setting)) {
    return [{ program: setting, source }];
  }
  // A bare name is for the PATH: "python" is what the extension for Python has by default.
  const isPath = inFolder.test(setting) || /[\\/]/.test(setting);
  if (!isPath || !trusted) {
    return [];
  }
  return folders.map((folder) => ({ program: paths.join(folder, setting.replace(inFolder, "")), source }));
}

function environments({ folders, platform, exists }: Places): Candidate[] {
  const inside = platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  const paths = pathOf(platform);
  return folders
    .flatMap((folder) => ENVIRONMENTS.map((source) => ({ program: paths.join(folder, source, ...inside), source })))
    .filter(({ program }) => exists(program));
}

function onPath({ path, platform, exists, trusted, folders }: Places): Candidate[] {
  const paths = pathOf(platform);
  const suffix = platform === "win32" ? ".exe" : "";
  const rooms = path
    .split(paths.delimiter)
    .filter((room) => paths.isAbsolute(room) && (trusted || !isInside(paths.join(room, "python"), folders, platform)));
  return NAMES.flatMap((name) => {
    const program = rooms.map((room) => paths.join(room, name + suffix)).find(exists);
    return program === undefined ? [] : [{ program, source: "PATH" }];
  });
}

function isInside(program: string, folders: readonly string[], platform: NodeJS.Platform): boolean {
  const paths = pathOf(platform);
  return folders.some((folder) => {
    const way = paths.relative(folder, program);
    return way !== "" && way !== ".." && !/^\.\.[\\/]/.test(way) && !paths.isAbsolute(way);
  });
}

function pathOf(platform: NodeJS.Platform): typeof posix {
  return platform === "win32" ? win32 : posix;
}
