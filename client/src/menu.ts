// The menu behind the status item: what can be done now, each entry a command.

import * as vscode from "vscode";

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
}

/** Offers the commands; those that the server does not know are left out. */
export async function showMenu(unknown: ReadonlySet<string>): Promise<void> {
  const { t } = vscode.l10n;
  const separator = (label: string): Entry => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const entries: Entry[] = [
    separator(t("Devices")),
    { label: `$(target) ${t("Choose Target Topology")}`, command: "meshlens.chooseTargetTopology" },
    { label: `$(refresh) ${t("Refresh Devices")}`, command: "meshlens.refreshDevices" },
    { label: `$(type-hierarchy) ${t("Show Devices and Meshes")}`, command: "meshlens.meshes.focus" },
    { label: `$(play) ${t("Run on Virtual Devices")}`, command: "meshlens.runOnVirtualDevices" },
    separator(t("Server")),
    { label: `$(debug-restart) ${t("Restart Server")}`, command: "meshlens.restart" },
    { label: `$(output) ${t("Show Logs")}`, command: "meshlens.showLogs" },
    { label: `$(output) ${t("Show Server Logs")}`, command: "meshlens.showServerLogs" },
    { label: `$(info) ${t("Print Debug Information")}`, command: "meshlens.showDebugInformation" },
    { label: `$(gear) ${t("Open Settings")}`, command: "meshlens.openSettings" },
  ];
  const shown = entries.filter(({ command }) => command === undefined || !unknown.has(command));
  const chosen = await vscode.window.showQuickPick(shown, { placeHolder: "MeshLens" });
  if (chosen?.command !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
