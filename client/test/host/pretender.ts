// A server that only pretends: it notes what it is told, and answers our own requests with something fixed.
// node pretender.js LOG devices,meshes,…

import { appendFileSync } from "node:fs";
import {
  createMessageConnection,
  ErrorCodes,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

const [log = "", known = ""] = process.argv.slice(2);
const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 6 } };
const defaults = { axisName: "batch", devices: "8" };

/** What is written where the cursor is, with the answers that came. */
function converted(params: {
  textDocument: { uri: string };
  axisName?: string;
  devices?: string;
  batch?: string;
  to: string;
}): unknown {
  if (params.axisName === "taken") {
    return {
      edit: null,
      refused: { code: "axis-name", message: 'the axis "taken" is bound already' },
      defaults,
      places: 0,
    };
  }
  const batch = params.batch === undefined ? "" : ` with ${params.batch}`;
  const newText = `# ${params.to} over ${params.axisName ?? "?"} on ${params.devices ?? "?"}${batch}\n`;
  const at = { start: range.start, end: range.start };
  return {
    edit: { changes: { [params.textDocument.uri]: [{ range: at, newText }] } },
    refused: null,
    defaults,
    places: 1,
  };
}

const ANSWERS: Record<string, (params: never) => unknown> = {
  devices: () => ({
    summary: "target 2x4, here 1 CPU",
    detected: null,
    failure: null,
    target: { text: "2x4", count: 8, shape: [2, 4] },
    interpreter: null,
  }),
  meshes: () => ({
    meshes: [{ label: "mesh", axes: [{ name: "data", size: 8 }], range, devices: [0, 1, 2, 3, 4, 5, 6, 7] }],
    functions: [{ name: "step", range, axes: [{ name: "data", size: 8 }], binder: "shard_map" }],
  }),
  convert: converted,
  waysToParallelize: () => ({
    name: "step",
    ways: [
      { to: "jit", strategy: "data", title: "jit + sharding", detail: "the function stays", refused: null },
      {
        to: "pmap",
        strategy: "data",
        title: "pmap",
        detail: "the older map",
        refused: { code: "random-numbers", message: '"step" draws random numbers' },
      },
      {
        to: "shard_map",
        strategy: "data",
        title: "shard_map",
        detail: "each device runs the body",
        refused: { code: "which-batch", message: "which argument holds the batch?" },
      },
    ],
    arguments: ["params", "batch"],
    defaults,
  }),
  virtualDevices: ({ devices }: { devices: number }) => ({
    env: { PRETENDED_DEVICES: String(devices) },
    interpreter: "python3",
    failure: null,
  }),
};

const connection = createMessageConnection(
  new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout),
);
const note = (method: string, params: unknown) => {
  appendFileSync(log, `${JSON.stringify([method, params])}\n`);
};

connection.onRequest((method, params) => {
  note(method, params);
  const name = method.replace("meshlens/", "");
  const answer = known.split(",").includes(name) ? ANSWERS[name] : undefined;
  if (answer !== undefined) {
    return answer(params as never);
  }
  if (method === "initialize") {
    return { capabilities: { textDocumentSync: 1 }, serverInfo: { name: "pretender", version: "1" } };
  }
  return method === "shutdown" ? null : new ResponseError(ErrorCodes.MethodNotFound, `unknown method ${method}`);
});
connection.onNotification((method, params) => {
  note(method, params);
  if (method === "exit") {
    process.exit();
  }
});
connection.listen();
