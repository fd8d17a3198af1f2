import assert from "node:assert/strict";
import { test } from "node:test";
import { areDevices, mayBeTopology, topologies } from "../src/topologies";

test("what is set now comes first, and once", () => {
  const values = topologies("2x4");
  assert.equal(values[0], "2x4");
  assert.equal(values.filter((value) => value === "2x4").length, 1);
  assert.equal(topologies("3x5")[0], "3x5");
  assert.ok(!topologies("").includes(""));
});

test("everything that is offered means devices", () => {
  for (const value of topologies("")) {
    assert.ok(mayBeTopology(value), value);
  }
});

test("numbers, shapes, slices and GPUs mean devices; other texts do not", () => {
  for (const text of [
    "8",
    " 2 x 4 ",
    "2×4×2",
    "2,4",
    "v5e-16",
    "v4-2x2x4",
    "8xH100",
    "4x8xH100",
    "8xcpu",
    "detected",
  ]) {
    assert.ok(mayBeTopology(text), text);
  }
  for (const text of ["", "0", "x4", "eight", "v5e", "8 x", "2x-4"]) {
    assert.ok(!mayBeTopology(text), text);
  }
});

test("a pmap is asked for a number of devices, a mesh for a shape too", () => {
  for (const text of ["", "1", "16"]) {
    assert.ok(areDevices(text, false) && areDevices(text, true), text);
  }
  assert.ok(areDevices("4x2", true) && areDevices("2 x 4", true));
  for (const text of ["4x2", "0", "eight", "-1", "8.5"]) {
    assert.ok(!areDevices(text, false), text);
  }
  assert.ok(!areDevices("4x", true) && !areDevices("0x2", true));
});
