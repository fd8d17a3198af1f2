import assert from "node:assert/strict";
import { test } from "node:test";
import { Crashes } from "../src/restarting";

test("each crash in a row waits twice as long, and the sixth is the last", () => {
  const crashes = new Crashes();
  const waits = [0, 1, 2, 3, 4, 5].map((second) => crashes.another(second * 1000));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, undefined]);
});

test("what is some minutes ago is forgotten", () => {
  const crashes = new Crashes();
  for (const second of [0, 1, 2, 3]) {
    crashes.another(second * 1000);
  }
  assert.equal(crashes.another(10 * 60 * 1000), 500);
});
