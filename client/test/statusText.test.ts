import assert from "node:assert/strict";
import { test } from "node:test";
import { statusText } from "../src/statusText";

test("the devices, once the server has said them", () => {
  assert.equal(statusText({ condition: "running", isBusy: false, devices: "8 × H100" }), "$(server) 8 × H100");
  assert.equal(statusText({ condition: "running", isBusy: false, devices: "" }), "$(server) MeshLens");
});

test("a spinner while it works", () => {
  assert.equal(statusText({ condition: "running", isBusy: true, devices: "1 CPU" }), "$(loading~spin) 1 CPU");
  assert.equal(statusText({ condition: "starting", isBusy: false, devices: "1 CPU" }), "$(loading~spin) MeshLens");
});

test("an error, and off", () => {
  assert.equal(statusText({ condition: "failed", isBusy: true, devices: "1 CPU" }), "$(error) MeshLens");
  assert.equal(statusText({ condition: "stopped", isBusy: false, devices: "" }), "$(circle-slash) MeshLens");
});
