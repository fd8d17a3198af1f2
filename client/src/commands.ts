// The extension's commands, under the names in the manifest.

import * as vscode from "vscode";
import type { LanguageClient, Location, Position } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { chooseTopology } from "./chooseTopology";
import { convert, type Place } from "./convert";
import { showDebugInformation } from "./debugInformation";
import { refreshDevices, targetInFront } from "./devices";
import { showMap, showPlaces } from "./lenses";
import { showMenu } from "./menu";
import { parallelize } from "./parallelize";
import { DEVICES, MESHES, TRACE, VIRTUAL_DEVICES } from "./requests";
import type { Server } from "./server";
import { SECTION } from "./settings";
import type { Status } from "./status";
import { openTour } from "./tour";
import { showCosts, traceAtCursor } from "./trace";
import { runOnVirtualDevices } from "./virtualDevices";

/** The objects that the commands work on. */
export interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly server: Server;
  readonly abilities: Abilities;
  readonly status: Status;
  readonly log: vscode.LogOutputChannel;
  readonly serverLog: vscode.LogOutputChannel;
}

/** Registers every command. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const { context, server, abilities, status, log, serverLog } = parts;
  const table: Record<string, (place?: Place) => unknown> = {
    restart: () => server.restart(),
    showLogs: () => {
      log.show();
    },
    showServerLogs: () => {
      serverLog.show();
    },
    showMenu: () => showMenu(unknownCommands(abilities)),
    showDebugInformation: () => showDebugInformation(context, server),
    openTour: () => openTour(context),
    openSettings: () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`),
    chooseTargetTopology: async () => chooseTopology(server.client && (await targetInFront(server.client, abilities))),
    refreshDevices: () => withClient(server, (client) => refreshDevices(client, abilities, status)),
    showDevicesAndMeshes: () => vscode.commands.executeCommand(`${SECTION}.meshes.focus`),
    parallelize: (place) => withClient(server, (client) => parallelize(client, abilities, place)),
    parallelizeWithPmap: (place) => withClient(server, (client) => convert(client, abilities, "pmap", place)),
    migrateToShardMap: (place) => withClient(server, (client) => convert(client, abilities, "shard_map", place)),
    traceAtCursor: () => withClient(server, (client) => traceAtCursor(client, abilities)),
    runOnVirtualDevices: () => withClient(server, (client) => runOnVirtualDevices(client, abilities)),
  };
  const ofLenses = [
    vscode.commands.registerCommand(`${SECTION}.showMap`, showMap),
    vscode.commands.registerCommand(`${SECTION}.showCosts`, showCosts),
    vscode.commands.registerCommand(`${SECTION}.showPlaces`, (...asked: [string, Position, Location[]]) =>
      withClient(server, (client) => showPlaces(client, ...asked)),
    ),
  ];
  const registered = Object.entries(table).map(([name, run]) =>
    // A menu passes the file, a lightbulb the place; the cursor is where the menu was opened.
    vscode.commands.registerCommand(`${SECTION}.${name}`, (asked?: Place | vscode.Uri) =>
      run(asked instanceof vscode.Uri ? undefined : asked),
    ),
  );
  return vscode.Disposable.from(...registered, ...ofLenses);
}

/** The commands that need requests that this server does not support. */
function unknownCommands(abilities: Abilities): Set<string> {
  const needs = [
    [DEVICES, "meshlens.refreshDevices"],
    [MESHES, "meshlens.showDevicesAndMeshes"],
    [VIRTUAL_DEVICES, "meshlens.runOnVirtualDevices"],
    [TRACE, "meshlens.traceAtCursor"],
  ] as const;
  return new Set(needs.filter(([request]) => abilities.lacks(request)).map(([, command]) => command));
}

/** Does something with the server, or says that there is none; errors are shown, not thrown. */
async function withClient(server: Server, act: (client: LanguageClient) => Promise<void>): Promise<void> {
  const { client } = server;
  if (client === undefined) {
    const restart = vscode.l10n.t("Restart Server");
    const chosen = await vscode.window.showWarningMessage(vscode.l10n.t("MeshLens is not running"), restart);
    if (chosen === restart) {
      await server.restart();
    }
    return;
  }
  try {
    await act(client);
  } catch (error) {
    void vscode.window.showErrorMessage(`MeshLens: ${error instanceof Error ? error.message : String(error)}`);
  }
}
