import assert from "node:assert/strict";
import { test } from "node:test";
import { escaped, meshPage, type Words } from "../src/meshPage";
import { meshTable } from "../src/meshTable";
import type { Mesh, Range } from "../src/requests";

const RANGE: Range = { start: { line: 3, character: 0 }, end: { line: 3, character: 9 } };
const WORDS: Words = {
  title: "Devices and meshes",
  focus: "At the cursor",
  devices: "Devices",
  meshes: "Meshes",
  functions: "Functions",
  positions: "Positions",
  noMeshes: "No mesh",
  noFunctions: "No function",
  noAxes: "no axes",
  language: "en",
};

function mesh(sizes: readonly (number | null)[], devices: readonly number[] | null = null): Mesh {
  return { label: "mesh", axes: sizes.map((size, index) => ({ name: `a${index}`, size })), range: RANGE, devices };
}

function cells(html: string): string[][] {
  const rows = [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = ""]) => row);
  return rows
    .map((row) => [...row.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, cell = ""]) => cell))
    .filter((row) => row[0]);
}

test("two axes are rows and columns, in the order of the devices", () => {
  const html = meshTable(mesh([2, 3], [5, 4, 3, 2, 1, 0]), escaped);
  assert.deepEqual(cells(html), [
    ["5", "4", "3"],
    ["2", "1", "0"],
  ]);
  assert.match(html, /title="a0 1, a1 2">0</);
});

test("one axis is a row, three are a table for each place on the first", () => {
  assert.deepEqual(cells(meshTable(mesh([4], [0, 1, 2, 3]), escaped)), [["0", "1", "2", "3"]]);
  const html = meshTable(mesh([2, 1, 2], [0, 1, 2, 3]), escaped);
  assert.deepEqual(
    [...html.matchAll(/<caption>(.*?)<\/caption>/g)].map(([, caption]) => caption),
    ["a0 0", "a0 1"],
  );
  assert.deepEqual(cells(html), [
    ["0", "1"],
    ["2", "3"],
  ]);
});

test("without the order of the devices the cells count positions, and the page says so", () => {
  assert.deepEqual(cells(meshTable(mesh([2, 2]), escaped)), [
    ["0", "1"],
    ["2", "3"],
  ]);
  const page = (one: Mesh) =>
    meshPage({ file: "a.py", devices: "", content: { meshes: [one], functions: [] } }, WORDS, "nonce");
  assert.match(page(mesh([2, 2])), /<p>Positions<\/p>/);
  assert.doesNotMatch(page(mesh([2, 2], [0, 1, 2, 3])), /Positions/);
  assert.doesNotMatch(page(mesh([2, null])), /Positions/);
});

test("nothing is drawn where a size is not known, and large meshes are counted", () => {
  assert.equal(meshTable(mesh([2, null]), escaped), "");
  assert.equal(meshTable(mesh([]), escaped), "");
  assert.equal(meshTable(mesh([64, 64]), escaped), "<p>64 × 64 = 4096</p>");
});

test("what comes from the program stays text", () => {
  const axes = [{ name: '"><script>alert(1)</script>', size: 1 }];
  const content = {
    meshes: [{ ...mesh([1]), label: "<b>", axes }],
    functions: [{ name: "f<T>", range: RANGE, axes, binder: "pm'ap" }],
  };
  const html = meshPage({ file: "<a>.py", devices: "<8>", content }, WORDS, "once");
  assert.equal([...html.matchAll(/<script/g)].length, 1);
  for (const raw of ["<b>", "f<T>", "<a>", "<8>", "pm'ap"]) {
    assert.ok(!html.includes(raw), raw);
  }
});

test("only its own style and script run", () => {
  const html = meshPage(undefined, WORDS, "once");
  assert.match(html, /content="default-src 'none'; style-src 'nonce-once'; script-src 'nonce-once'"/);
  assert.doesNotMatch(html, /style="|onclick|https?:/);
});

test("every mesh and function is a button that knows its place", () => {
  const axes = [{ name: "batch", size: null }];
  const content = { meshes: [mesh([2])], functions: [{ name: "step", range: RANGE, axes, binder: "pmap" }] };
  const html = meshPage({ file: "train.py", devices: "", content }, WORDS, "once");
  assert.equal([...html.matchAll(/<button data-range="[^"]*&quot;line&quot;:3/g)].length, 2);
  assert.match(html, /batch: \?/);
});
