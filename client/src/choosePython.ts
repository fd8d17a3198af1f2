// Chooses the Python that runs the server: the first candidate that reports that it can, and then does.

import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import * as vscode from "vscode";
import { type Candidate, candidates } from "./findPython";
import { begin, type Begun, type Refusal, serverCommand } from "./launch";
import type { PythonExtensions } from "./pythonExtensions";
import type { StartSettings } from "./settings";

const ONE_MILLISECONDS = 10_000;
const ALL_MILLISECONDS = 30_000;

/** The outcome: a server process, or a sentence that says why there is none. */
export type Choice = Begun | { readonly refused: string };

/**
 * Tries the candidates in order.
 *
 * @param extension - the folder of the extension
 * @param settings - the user's settings
 * @param extensions - the Python extensions
 * @param log - receives which candidates were tried
 * @param serverLog - receives the server's output
 */
export async function choosePython(
  extension: string,
  settings: StartSettings,
  extensions: PythonExtensions,
  log: vscode.LogOutputChannel,
  serverLog: vscode.LogOutputChannel,
): Promise<Choice> {
  const start = Date.now();
  const isVerbose = serverLog.logLevel <= vscode.LogLevel.Debug && serverLog.logLevel !== vscode.LogLevel.Off;
  const refusals: (Refusal & { readonly program: string })[] = [];
  for (const { program, source } of await inOrder(settings, extensions)) {
    const left = ALL_MILLISECONDS - (Date.now() - start);
    if (left <= 0) {
      break;
    }
    const command = serverCommand(extension, program, settings.strategy, isVerbose);
    const answer = await begin(command, extension, Math.min(left, ONE_MILLISECONDS), (line) => {
      serverLog.info(line);
    });
    if (!("reason" in answer)) {
      log.info(`${program} (${source}): Python ${answer.python.version}, MeshLens from ${answer.python.origin}`);
      return answer;
    }
    log.info(`${program} (${source}): ${answer.reason}`);
    refusals.push({ program, ...answer });
  }
  return { refused: sentence(refusals) };
}

/** Returns why there is no server: the reason that the best Python gives, or else why the first one failed. */
function sentence(refusals: readonly (Refusal & { readonly program: string })[]): string {
  const told = refusals.find(({ isSentence }) => isSentence) ?? refusals[0];
  if (told === undefined) {
    return vscode.l10n.t("MeshLens needs Python 3.10 or newer, but none was found.");
  }
  const { program, reason, isSentence } = told;
  return isSentence ? `${reason}.` : vscode.l10n.t("MeshLens needs Python 3.10 or newer; {0}: {1}.", program, reason);
}

async function inOrder(settings: StartSettings, extensions: PythonExtensions): Promise<Candidate[]> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const trusted = vscode.workspace.isTrusted;
  return candidates({
    setting: settings.interpreter,
    extensions: trusted && settings.interpreter === "" ? await extensions.of(folders[0]?.uri) : [],
    defaultOfPython: trusted
      ? vscode.workspace.getConfiguration("python", folders[0]?.uri).get("defaultInterpreterPath", "")
      : "",
    folders: [...folders.map((folder) => folder.uri.fsPath), ...(trusted ? [] : foldersOfFiles())],
    path: process.env["PATH"] ?? process.env["Path"] ?? "",
    platform: process.platform,
    trusted,
    home: homedir(),
    exists: existsSync,
    real: (path) => {
      try {
        return realpathSync.native(path);
      } catch {
        return path;
      }
    },
  });
}

/** Returns the folders of the open files, some of which belong to no open folder. */
function foldersOfFiles(): string[] {
  const files = vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === "file");
  return [...new Set(files.map(({ uri }) => dirname(uri.fsPath)))];
}
