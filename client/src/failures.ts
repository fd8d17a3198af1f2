// Shows one sentence with buttons when the server does not run.

import * as vscode from "vscode";
import type { Server } from "./server";

const SELECT_INTERPRETER = "python.setInterpreter";

/** Shows why the server failed, once for each failure. */
export function showFailures(server: Server): vscode.Disposable {
  return server.onDidChange((condition) => {
    if (condition.kind === "failed") {
      void show(condition.reason);
    }
  });
}

async function show(reason: string): Promise<void> {
  const [choose, logs, restart] = [
    vscode.l10n.t("Select Python"),
    vscode.l10n.t("Show Logs"),
    vscode.l10n.t("Restart Server"),
  ];
  switch (await vscode.window.showErrorMessage(reason, choose, restart, logs)) {
    case choose:
      await selectPython();
      break;
    case restart:
      await vscode.commands.executeCommand("meshlens.restart");
      break;
    case logs:
      await vscode.commands.executeCommand("meshlens.showLogs");
      break;
  }
}

/** Opens the Python extension's own picker if it is installed, or else our setting. */
async function selectPython(): Promise<void> {
  const known = await vscode.commands.getCommands(true);
  if (known.includes(SELECT_INTERPRETER)) {
    await vscode.commands.executeCommand(SELECT_INTERPRETER);
  } else {
    await vscode.commands.executeCommand("workbench.action.openSettings", "meshlens.interpreter");
  }
}
