import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../src/within";

test("what comes in time comes, what fails or is late does not", async () => {
  assert.equal(await within(10_000, Promise.resolve(3)), 3);
  assert.equal(await within(10_000, Promise.reject<number>(new Error("no"))), undefined);
  assert.equal(await within(1, new Promise<number>(() => undefined)), undefined);
});
