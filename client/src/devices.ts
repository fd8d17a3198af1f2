// Keeps the status item up to date with the devices of the active project.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { isRead } from "./documents";
import { DEVICES, type Devices } from "./requests";
import type { Server } from "./server";
import type { Status } from "./status";

const CHANGED = "meshlens/devicesDidChange";

/**
 * Requests the devices when the server starts, when it finds other devices, and when another file becomes active.
 *
 * @param server - the server
 * @param abilities - what it supports
 * @param status - shows them
 * @param onChange - called when the devices change
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
        // The notification is about any project; the status item shows the active one.
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

/** Makes the server look for devices again, and shows what it found. */
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

/** Returns the target topology of the active code, if the server knows one. */
export async function targetInFront(client: LanguageClient, abilities: Abilities): Promise<string | undefined> {
  return (await devicesInFront(client, abilities))?.target?.text;
}

async function devicesInFront(client: LanguageClient, abilities: Abilities): Promise<Devices | undefined> {
  const uri = uriInFront(client);
  return abilities.ask(client, DEVICES, uri === undefined ? {} : { uri }).catch(() => undefined);
}

/** Returns the active document: a Python file, or a notebook, whose cells may not have reached the server yet. */
function uriInFront(client: LanguageClient): string | undefined {
  const { activeTextEditor, activeNotebookEditor } = vscode.window;
  const document = activeTextEditor?.document;
  const isCell = document === undefined || document.uri.scheme === "vscode-notebook-cell";
  const notebook = isCell ? activeNotebookEditor?.notebook : undefined;
  const uri = notebook?.uri ?? (document !== undefined && isRead(document) ? document.uri : undefined);
  return uri && client.code2ProtocolConverter.asUri(uri);
}
