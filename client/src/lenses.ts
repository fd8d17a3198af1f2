// The commands of the code lenses: show the view of the meshes, or the collectives as references.

import * as vscode from "vscode";
import type { LanguageClient, Location, Position } from "vscode-languageclient/node";

/** Shows the meshes and mapped functions of the file. */
export async function showMap(): Promise<void> {
  await vscode.commands.executeCommand("meshlens.meshes.focus");
}

/**
 * Shows places in VS Code's references view.
 *
 * @param client - converts the server's locations
 * @param uri - the document of the lens
 * @param position - the position of the lens
 * @param places - the places that the lens counts
 */
export async function showPlaces(
  client: LanguageClient,
  uri: string,
  position: Position,
  places: readonly Location[],
): Promise<void> {
  const { protocol2CodeConverter } = client;
  await vscode.commands.executeCommand(
    "editor.action.showReferences",
    protocol2CodeConverter.asUri(uri),
    protocol2CodeConverter.asPosition(position),
    places.map((place) => protocol2CodeConverter.asLocation(place)),
  );
}
