// Keeps the status item informed of the devices of the project in front.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { isRead } from "./documents";
import { DEVICES, type Devices } from "./requests";
import type { Server } from "./server";
import type { Status } from "./status";

const CHANGED = "meshlens/devicesDidChange";

/**
 * Asks for the devices when the server runs, when it has found others, and when another file comes to the front.
 *
 * @param server - the server
 * @param abilities - what it knows
 * @param status - shows them
 * @param onChange - who else wants to know that there are others
 */
export function watchDevices(
  server: Server,
  abilities: Abilities,
  status: Status,
  onChange: () => void,
): vscode.Disposable {
  const update = async (client: LanguageClient) => {
    const devices = await devicesInFront(client, abilities);
    status.showDevices(devices?.summary ?? "", devices?.failure ?? "");
  };
  return vscode.Disposable.from(
    server.onDidChange((condition) => {
      if (condition.kind === "running") {
        // It is told of every project; the one in front is what is shown.
        condition.client.onNotification(CHANGED, () => {
          void update(condition.client);
          onChange();
        });
        void update(condition.client);
      } else {
        status.showDevices("", "");
      }
    }),
    vscode.window.onDidChangeActiveTextEditor(() => {
      if (server.client !== undefined) {
        void update(server.client);
      }
    }),
  );
}

/** Has the server look for devices anew, and says what it found. */
export async function refreshDevices(client: LanguageClient, abilities: Abilities, status: Status): Promise<void> {
  const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t("Looking for devices") };
  const uri = uriInFront(client);
  const devices = await vscode.window.withProgress(options, () =>
    abilities.ask(client, DEVICES, { refresh: true, ...(uri === undefined ? {} : { uri }) }),
  );
  if (devices === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("The running server does not support this yet."));
    return;
  }
  status.showDevices(devices.summary, devices.failure ?? "");
  if (devices.failure === null) {
    void vscode.window.showInformationMessage(`MeshLens: ${devices.summary}`);
  } else {
    void vscode.window.showWarningMessage(`MeshLens: ${devices.failure}`);
  }
}

/** The topology that the code in front is meant for, as far as the server knows. */
export async function targetInFront(client: LanguageClient, abilities: Abilities): Promise<string | undefined> {
  return (await devicesInFront(client, abilities))?.target?.text;
}

async function devicesInFront(client: LanguageClient, abilities: Abilities): Promise<Devices | undefined> {
  const uri = uriInFront(client);
  return abilities.ask(client, DEVICES, uri === undefined ? {} : { uri }).catch(() => undefined);
}

/** What is in front: a Python file, or a notebook, whose cells the server may not have heard of yet. */
function uriInFront(client: LanguageClient): string | undefined {
  const { activeTextEditor, activeNotebookEditor } = vscode.window;
  const document = activeTextEditor?.document;
  const isCell = document === undefined || document.uri.scheme === "vscode-notebook-cell";
  const notebook = isCell ? activeNotebookEditor?.notebook : undefined;
  const uri = notebook?.uri ?? (document !== undefined && isRead(document) ? document.uri : undefined);
  return uri && client.code2ProtocolConverter.asUri(uri);
}
