// The language server's process: how it is started, and the client that speaks with it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";
import type { Python } from "./probePython";

const SELECTOR = ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ language: "python", scheme }));

/** Which MeshLens runs, as the setting `meshlens.importStrategy` names it. */
export type ImportStrategy = "useBundled" | "fromEnvironment";

/**
 * A client for a server that is not started yet.
 *
 * @param extension - the folder of the extension
 * @param python - what runs the server
 * @param strategy - which MeshLens runs
 * @param channel - where the client and the server log
 */
export function makeClient(
  extension: string,
  python: Python,
  strategy: ImportStrategy,
  channel: vscode.LogOutputChannel,
): LanguageClient {
  const run = {
    command: python.executable,
    args: ["-m", "meshlens", "server"],
    transport: TransportKind.stdio,
    // Python looks for modules in its working folder first: that must not be the user's.
    options: { cwd: extension, env: environmentFor(extension, python, strategy) },
  };
  return new LanguageClient(
    "meshlens",
    "MeshLens",
    { run, debug: run },
    {
      documentSelector: SELECTOR,
      outputChannel: channel,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { trusted: vscode.workspace.isTrusted, interpreter: python.executable },
    },
  );
}

function environmentFor(extension: string, python: Python, strategy: ImportStrategy): NodeJS.ProcessEnv {
  if (strategy === "fromEnvironment" && python.hasMeshLens) {
    return process.env;
  }
  const libraries = [join(extension, "bundled", "libs"), join(extension, "server")].find(existsSync);
  return libraries === undefined ? process.env : { ...process.env, PYTHONPATH: libraries };
}
