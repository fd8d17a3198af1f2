// Where VS Code enters, when a Python file or a notebook is opened: puts the parts together.

import * as vscode from "vscode";
import { ResponseError, type Middleware } from "vscode-languageclient/node";
import { Abilities } from "./abilities";
import { choosePython } from "./choosePython";
import { registerCommands } from "./commands";
import { watchDevices } from "./devices";
import { showFailures } from "./failures";
import { type Command, serverCommand } from "./launch";
import { withQuestions } from "./lightbulb";
import { MeshView, VIEW } from "./meshView";
import { PythonExtensions } from "./pythonExtensions";
import { Server } from "./server";
import { NEEDING_RESTART, startSettings, forServer } from "./settings";
import { Status } from "./status";
import { interpreterOf, tellInterpreters, tellTrust } from "./told";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("MeshLens", { log: true });
  const serverLog = vscode.window.createOutputChannel("MeshLens Language Server", { log: true });
  const extensions = new PythonExtensions();
  const abilities = new Abilities();
  let interpreter: string | null = null;

  const command = async (): Promise<Command | { readonly refused: string } | undefined> => {
    await abilities.reset();
    const settings = startSettings();
    const [program, ...args] = settings.path;
    if (!settings.enabled) {
      return undefined;
    }
    interpreter = await interpreterOf(extensions, vscode.workspace.workspaceFolders?.[0]?.uri);
    if (program !== undefined) {
      log.info(`${settings.path.join(" ")} (meshlens.path)`);
      return { program, args, environment: process.env };
    }
    const choice = await choosePython(context.extensionPath, settings, extensions, log);
    if ("refused" in choice) {
      return choice;
    }
    const isVerbose = serverLog.logLevel <= vscode.LogLevel.Debug && serverLog.logLevel !== vscode.LogLevel.Off;
    return serverCommand(context.extensionPath, choice.python.executable, settings.strategy, isVerbose);
  };

  const middleware: Middleware = {
    handleWorkDoneProgress: (token, work, next) => {
      status.work(token, work.kind);
      next(token, work);
    },
    provideCodeActions: async (document, range, asked, token, next) => {
      const actions = await next(document, range, asked, token);
      return actions && withQuestions(actions, document, range.start);
    },
    workspace: {
      configuration: async (params, token, next) => {
        const answers = await next(params, token);
        return answers instanceof ResponseError ? answers : answers.map(forServer);
      },
    },
  };

  const running = new Server({
    folder: context.extensionPath,
    channel: serverLog,
    middleware,
    initializationOptions: () => ({ trusted: vscode.workspace.isTrusted, interpreter, devicesDidChange: true }),
    command,
  });
  server = running;
  const status = new Status(running);
  const view = new MeshView(running, abilities);
  const pythonOf = async (folder: vscode.Uri | undefined) =>
    startSettings().interpreter || ((await interpreterOf(extensions, folder)) ?? undefined);

  context.subscriptions.push(
    ...[log, serverLog, extensions, running, status, view],
    showFailures(running),
    watchDevices(running, abilities, status, () => {
      view.refresh();
    }),
    vscode.window.registerWebviewViewProvider(VIEW, view),
    registerCommands({ context, server: running, abilities, status, log, serverLog, pythonOf }),
    ...reactions(running, extensions, log),
  );
  // The views of the manifest are for those who work on Python.
  void vscode.commands.executeCommand("setContext", "meshlens.active", true);
  void running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** What is done when the user changes something outside. */
function reactions(running: Server, extensions: PythonExtensions, log: vscode.LogOutputChannel): vscode.Disposable[] {
  const retell = async () => {
    if (running.client === undefined) {
      await running.restart();
    } else {
      await tellInterpreters(running.client, extensions);
    }
  };
  const safely = (step: () => Promise<void>) => () => {
    step().catch((error: unknown) => {
      log.error(error instanceof Error ? error : String(error));
    });
  };
  return [
    running.onDidChange(({ kind }) => {
      // The first folder's was told at the start.
      if (kind === "running" && (vscode.workspace.workspaceFolders?.length ?? 0) > 1) {
        safely(retell)();
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (NEEDING_RESTART.some((key) => event.affectsConfiguration(key))) {
        void running.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(
      safely(async () => {
        if (running.client !== undefined) {
          await tellTrust(running.client);
        }
        await retell();
      }),
    ),
    vscode.workspace.onDidChangeWorkspaceFolders(safely(retell)),
    extensions.onDidChange(safely(retell)),
  ];
}
