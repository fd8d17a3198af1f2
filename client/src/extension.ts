// The entry point, which VS Code activates when a Python file or a notebook is opened; puts the parts together.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { Abilities } from "./abilities";
import { AxisColors } from "./axisColors";
import { choosePython } from "./choosePython";
import { COSTS, CostView } from "./costView";
import { registerCommands } from "./commands";
import { watchDevices } from "./devices";
import { showFailures } from "./failures";
import { Interpreters } from "./interpreters";
import { beginProgram } from "./launch";
import { withQuestions } from "./lightbulb";
import { MeshView, VIEW } from "./meshView";
import { PythonExtensions } from "./pythonExtensions";
import { type Beginning, Server } from "./server";
import { NEEDING_RESTART, type StartSettings, startSettings, forServer } from "./settings";
import { Status } from "./status";
import { saveAll, TRACE_COMMAND } from "./trace";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("MeshLens", { log: true });
  const serverLog = vscode.window.createOutputChannel("MeshLens Language Server", { log: true });
  const extensions = new PythonExtensions();
  const interpreters = new Interpreters(extensions);
  const abilities = new Abilities();

  const begin = async (): Promise<Beginning> => {
    await abilities.reset();
    const settings = startSettings();
    if (!settings.enabled) {
      return undefined;
    }
    const [begun] = await Promise.all([beginServer(settings), interpreters.prepare()]);
    return begun;
  };

  const beginServer = async (settings: StartSettings): Promise<Beginning> => {
    if (settings.path.length > 0) {
      log.info(`${settings.path.join(" ")} (meshlens.path)`);
      return { process: await beginProgram(settings.path, context.extensionPath, writeLog) };
    }
    return choosePython(context.extensionPath, settings, extensions, log, serverLog);
  };
  const writeLog = (line: string) => {
    serverLog.info(line);
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
    executeCommand: async (command, given, next) => {
      if (command === TRACE_COMMAND) {
        await saveAll();
      }
      const done: unknown = await next(command, given);
      return done;
    },
    workspace: {
      configuration: async (params, token, next) => {
        const answers = await next(params, token);
        return Array.isArray(answers) ? answers.map(forServer) : answers;
      },
    },
  };

  const running = new Server({
    channel: serverLog,
    middleware,
    initializationOptions: () => ({
      trusted: vscode.workspace.isTrusted,
      interpreter: interpreters.begin(),
      devicesDidChange: true,
      asksHow: true,
      lensCommands: true,
      tracesDidChange: true,
      axisColors: true,
    }),
    begin,
  });
  server = running;
  const status = new Status(running);
  const view = new MeshView(running, abilities);
  const costs = new CostView(running, abilities);
  const colors = new AxisColors(running, abilities);

  context.subscriptions.push(
    ...[log, serverLog, extensions, running, status, view, costs, colors],
    showFailures(running),
    watchDevices(running, abilities, status, () => {
      view.refresh();
    }),
    vscode.window.registerWebviewViewProvider(VIEW, view),
    vscode.window.registerTreeDataProvider(COSTS, costs),
    registerCommands({ context, server: running, abilities, status, log, serverLog }),
    ...reactions(running, interpreters, extensions.onDidChange, log),
  );
  // The manifest shows its views only to users who work on Python.
  void vscode.commands.executeCommand("setContext", "meshlens.active", true);
  void running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** Reacts to changes that the user makes elsewhere. */
function reactions(
  running: Server,
  interpreters: Interpreters,
  onDidChangePython: vscode.Event<void>,
  log: vscode.LogOutputChannel,
): vscode.Disposable[] {
  // A server that is still starting is told as soon as it runs.
  const tell = async () => {
    if (running.client !== undefined) {
      await interpreters.tell(running.client);
    } else if (running.condition.kind === "failed") {
      await running.restart();
    }
  };
  const safely = (step: () => Promise<void>) => () => {
    step().catch((error: unknown) => {
      log.error(error instanceof Error ? error : String(error));
    });
  };
  return [
    running.onDidChange(({ kind }) => {
      if (kind === "running") {
        safely(tell)();
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (NEEDING_RESTART.some((key) => event.affectsConfiguration(key))) {
        safely(() => running.restart())();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(
      safely(async () => {
        await running.client?.sendNotification("meshlens/didGrantTrust", {});
        await tell();
      }),
    ),
    vscode.workspace.onDidChangeWorkspaceFolders(safely(tell)),
    onDidChangePython(safely(tell)),
  ];
}
