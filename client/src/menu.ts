// The menu of the status item: what can be done now, each entry a command.

import * as vscode from "vscode";

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
}

/** Offers the commands, except those that the server does not support. */
export async function showMenu(unknown: ReadonlySet<string>): Promise<void> {
  const separator = (label: string): Entry => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const running: Entry = vscode.workspace.isTrusted
    ? { label: `$(play) ${vscode.l10n.t("Run on Virtual Devices")}`, command: "meshlens.runOnVirtualDevices" }
    : { label: `$(shield) ${vscode.l10n.t("Manage Workspace Trust")}`, command: "workbench.trust.manage" };
  const entries: Entry[] = [
    separator(vscode.l10n.t("Devices")),
    { label: `$(target) ${vscode.l10n.t("Choose Target Topology")}`, command: "meshlens.chooseTargetTopology" },
    { label: `$(refresh) ${vscode.l10n.t("Refresh Devices")}`, command: "meshlens.refreshDevices" },
    {
      label: `$(type-hierarchy) ${vscode.l10n.t("Show Devices and Meshes")}`,
      command: "meshlens.showDevicesAndMeshes",
    },
    running,
    separator(vscode.l10n.t("Server")),
    { label: `$(debug-restart) ${vscode.l10n.t("Restart Server")}`, command: "meshlens.restart" },
    { label: `$(output) ${vscode.l10n.t("Show Logs")}`, command: "meshlens.showLogs" },
    { label: `$(output) ${vscode.l10n.t("Show Server Logs")}`, command: "meshlens.showServerLogs" },
    { label: `$(info) ${vscode.l10n.t("Print Debug Information")}`, command: "meshlens.showDebugInformation" },
    { label: `$(gear) ${vscode.l10n.t("Open Settings")}`, command: "meshlens.openSettings" },
  ];
  const shown = entries.filter(({ command }) => command === undefined || !unknown.has(command));
  const chosen = await vscode.window.showQuickPick(shown, { placeHolder: "MeshLens" });
  if (chosen?.command !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
