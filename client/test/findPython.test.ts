import assert from "node:assert/strict";
import { test } from "node:test";
import { candidates, type Places } from "../src/findPython";

const HERE: Places = {
  setting: "",
  extensions: [],
  defaultOfPython: "",
  folders: ["/w"],
  path: "/usr/bin:/bin",
  platform: "linux",
  trusted: true,
  home: "/u/me",
  exists: () => false,
  real: (path) => path,
};

const programs = (places: Partial<Places>) => candidates({ ...HERE, ...places }).map(({ program }) => program);
const there = (...paths: string[]) => ({ exists: (path: string) => paths.includes(path) });

test("what is set goes first, then the extensions, their setting, the environment, the PATH", () => {
  const found = candidates({
    ...HERE,
    setting: "/opt/python",
    extensions: [{ program: "/conda/bin/python", source: "Python" }],
    defaultOfPython: "/default/python",
    ...there("/w/.venv/bin/python", "/usr/bin/python3"),
  });
  assert.deepEqual(found, [
    { program: "/opt/python", source: "meshlens.interpreter" },
    { program: "/conda/bin/python", source: "Python" },
    { program: "/default/python", source: "python.defaultInterpreterPath" },
    { program: "/w/.venv/bin/python", source: ".venv" },
    { program: "/usr/bin/python3", source: "PATH" },
  ]);
});

test("a workspace that is not trusted has no say", () => {
  const untrusted = {
    trusted: false,
    extensions: [{ program: "/w/.venv/bin/python", source: "Python" }],
    defaultOfPython: "./evil/python",
    path: "/w/bin:/usr/bin",
    ...there("/w/.venv/bin/python", "/w/bin/python3", "/usr/bin/python3"),
  };
  assert.deepEqual(programs(untrusted), ["/usr/bin/python3"]);
  assert.deepEqual(programs({ ...untrusted, setting: "/w/.venv/bin/python" }), ["/usr/bin/python3"]);
  assert.deepEqual(programs({ ...untrusted, setting: "evil/python" }), ["/usr/bin/python3"]);
  assert.deepEqual(programs({ ...untrusted, setting: "/opt/python" }), ["/opt/python", "/usr/bin/python3"]);
  assert.deepEqual(programs({ ...untrusted, trusted: true, path: "/usr/bin" }), [
    "/w/.venv/bin/python",
    "/w/evil/python",
    "/usr/bin/python3",
  ]);
});

test("what encloses a workspace that is not trusted has no say either, up to the top of its repository", () => {
  const inner = {
    trusted: false,
    folders: ["/a/b/sub"],
    path: "/a/.venv/bin:/a/b/bin:/usr/bin",
    ...there("/a/.git", "/a/b/.git", "/a/.venv/bin/python3", "/a/b/bin/python", "/usr/bin/python3"),
  };
  assert.deepEqual(programs(inner), ["/usr/bin/python3"]);
  assert.deepEqual(programs({ ...inner, setting: "/a/.venv/bin/python3" }), ["/usr/bin/python3"]);
  // The user's own folder may be a repository; their Pythons stay theirs.
  const own = { path: "/u/me/bin:/usr/bin", ...there("/u/me/.git", "/u/me/bin/python3") };
  assert.deepEqual(programs({ ...own, trusted: false, folders: ["/u/me/w"] }), ["/u/me/bin/python3"]);
});

test("a link into a workspace that is not trusted is not followed", () => {
  const real = (path: string) => path.replace(/^\/links\/bin/, "/w/.venv/bin").replace(/^\/shortcut/, "/w");
  const linked = { trusted: false, real, path: "/links/bin:/usr/bin" };
  const found = there("/links/bin/python3", "/usr/bin/python3", "/w/.venv/bin/python3");
  assert.deepEqual(programs({ ...linked, ...found }), ["/usr/bin/python3"]);
  assert.deepEqual(programs({ ...linked, ...found, folders: ["/shortcut"] }), ["/usr/bin/python3"]);
});

test("a sibling of the workspace with a similar name is not inside it", () => {
  const sibling = { trusted: false, path: "/w2/bin:/..w/bin", ...there("/w2/bin/python3", "/..w/bin/python") };
  assert.deepEqual(programs(sibling), ["/w2/bin/python3", "/..w/bin/python"]);
});

test("relative rooms of the PATH are not looked into", () => {
  assert.deepEqual(programs({ path: ".:bin:/bin", exists: () => true, folders: [] }).slice(0, 1), ["/bin/python3"]);
});

test("relative settings belong to each folder, bare names to the PATH", () => {
  const folders = { folders: ["/a", "/b"] };
  assert.deepEqual(programs({ ...folders, setting: "env/bin/python" }), ["/a/env/bin/python", "/b/env/bin/python"]);
  assert.deepEqual(programs({ ...folders, setting: "${workspaceFolder}/env/bin/python" }), [
    "/a/env/bin/python",
    "/b/env/bin/python",
  ]);
  assert.deepEqual(programs({ ...folders, defaultOfPython: "python" }), []);
});

test("the same program is tried once", () => {
  const twice = { setting: "/usr/bin/python3", ...there("/usr/bin/python3") };
  assert.deepEqual(programs(twice), ["/usr/bin/python3"]);
});

test("Windows has its own names and places", () => {
  const windows: Partial<Places> = {
    platform: "win32",
    folders: ["C:\\w"],
    path: "C:\\Python;relative",
    ...there("C:\\w\\.venv\\Scripts\\python.exe", "C:\\Python\\python.exe"),
  };
  assert.deepEqual(programs(windows), ["C:\\w\\.venv\\Scripts\\python.exe", "C:\\Python\\python.exe"]);
  assert.deepEqual(programs({ ...windows, trusted: false }), ["C:\\Python\\python.exe"]);
});
