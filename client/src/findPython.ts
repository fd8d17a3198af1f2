// Finds the Pythons that could run the server, best first. Starts none of them.

import { posix, win32 } from "node:path";

/** A Python that may exist. */
export interface Candidate {
  readonly program: string;
  /** What named it, for the log and for messages. */
  readonly source: string;
}

/** Where to look. */
export interface Places {
  /** `meshlens.interpreter`; empty if it is not set. */
  readonly setting: string;
  /** The Pythons that the Python extensions name, best first. */
  readonly extensions: readonly Candidate[];
  /** `python.defaultInterpreterPath`; empty if it is not set. */
  readonly defaultOfPython: string;
  readonly folders: readonly string[];
  readonly path: string;
  readonly platform: NodeJS.Platform;
  readonly trusted: boolean;
  /** The user's home folder; nothing above it came with a workspace. */
  readonly home: string;
  readonly exists: (path: string) => boolean;
  /** Resolves the links in a path, as far as it exists. */
  readonly real: (path: string) => string;
}

// As in server/meshlens/devices/trust.py.
const MARKS = [".git", ".hg", ".svn", ".jj", ".sl", "meshlens.toml", "pyproject.toml", "setup.py", "setup.cfg"];
const ENVIRONMENTS = [".venv", "venv"];
const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/**
 * Returns the Pythons to try, in order: the one set for MeshLens, those that the Python extensions name, the one set
 * for these extensions, the folder's own environment, and the PATH.
 *
 * An untrusted workspace has no say: nothing in it is run, nor anything that extensions derived from it.
 */
export function candidates(places: Places): Candidate[] {
  const { setting, trusted, extensions, defaultOfPython } = places;
  const all = [
    ...programs(setting, "meshlens.interpreter", places),
    ...(trusted ? [...extensions, ...programs(defaultOfPython, "python.defaultInterpreterPath", places)] : []),
    ...(trusted ? environments(places) : []),
    ...onPath(places),
  ];
  const allowed = trusted ? all : all.filter(({ program }) => !leadsInside(program, places));
  return allowed.filter((one, index) => allowed.findIndex((other) => other.program === one.program) === index);
}

function programs(setting: string, source: string, { folders, trusted, platform }: Places): Candidate[] {
  const paths = pathOf(platform);
  const inFolder = /^\$\{workspaceFolder\}[\\/]/;
  if (paths.isAbsolute(setting)) {
    return [{ program: setting, source }];
  }
  // A bare name refers to the PATH: "python" is the default of the Python extension.
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

function onPath(places: Places): Candidate[] {
  const { path, platform, exists, trusted } = places;
  const paths = pathOf(platform);
  const suffix = platform === "win32" ? ".exe" : "";
  const rooms = path
    .split(paths.delimiter)
    .filter((room) => paths.isAbsolute(room) && (trusted || !leadsInside(paths.join(room, "python"), places)));
  return NAMES.flatMap((name) => {
    const program = rooms.map((room) => paths.join(room, name + suffix)).find(exists);
    return program === undefined ? [] : [{ program, source: "PATH" }];
  });
}

/** Returns whether a program, or any link on the way to it, leads into the workspace or the folders that enclose it. */
function leadsInside(program: string, places: Places): boolean {
  const { folders, platform, real } = places;
  const closed = folders.flatMap((folder) => [folder, real(folder), enclosing(real(folder), places)]);
  const paths = pathOf(platform);
  // A program that does not exist yet may appear later; where the link to its folder leads is already known.
  const spelled = [program, real(program), paths.join(real(paths.dirname(program)), paths.basename(program))];
  return spelled.some((one) => isInside(one, closed, platform));
}

/** Returns the highest folder above another that looks like a repository or project, below the user's home folder. */
function enclosing(folder: string, { platform, exists, home, real }: Places): string {
  const paths = pathOf(platform);
  let found = folder;
  let above = folder;
  const end = real(home);
  while (paths.dirname(above) !== above) {
    found = MARKS.some((mark) => exists(paths.join(above, mark))) ? above : found;
    above = paths.dirname(above);
    if (above === end) {
      break;
    }
  }
  return found;
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
