// "Convert function to pmap" and similar commands: a few questions, then the edit, or the reason why there is none.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { withPreview } from "./preview";
import { CONVERT, type Converted, type Map } from "./requests";
import { areDevices } from "./topologies";

/** A place in a document, from a lightbulb; the cursor if omitted. */
export interface Place {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
}

/** The user's answers. */
export interface Answers {
  readonly axisName: string;
  readonly devices: string;
}

/** A function in a document, as sent to the server. */
export interface Subject {
  readonly textDocument: { readonly uri: string; readonly version: number };
  readonly position: { readonly line: number; readonly character: number };
}

/**
 * Converts the function at a place so that it runs on several devices.
 *
 * @param client - the client of the server that computes the edit
 * @param abilities - what that server supports
 * @param to - what to convert the function to
 * @param place - the place of the function
 */
export async function convert(
  client: LanguageClient,
  abilities: Abilities,
  to: Map,
  place: Place | undefined,
): Promise<void> {
  const subject = await subjectAt(client, place);
  if (subject === undefined) {
    return;
  }
  const ask = (answers: Partial<Answers>) => abilities.ask(client, CONVERT, { to, ...subject(), ...answers });
  const first = await ask({});
  if (!isPossible(first)) {
    return;
  }
  const answers = to === "pmap" ? await askUser(titleOf(to), to, first.defaults) : first.defaults;
  if (answers === undefined) {
    return;
  }
  const last = await ask(answers);
  if (isPossible(last)) {
    await apply(client, last, titleOf(to));
  }
}

/**
 * Finds the function at a place, or at the cursor; tells the user and returns undefined if there is no document.
 *
 * The result states the version of the document at the time of the call.
 */
export async function subjectAt(
  client: LanguageClient,
  place: Place | undefined,
): Promise<(() => Subject) | undefined> {
  const document = await documentAt(place);
  const position = place ?? vscode.window.activeTextEditor?.selection.active;
  if (document === undefined || position === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Put the cursor on a function in a Python file first."));
    return undefined;
  }
  const { line, character } = position;
  return () => ({
    textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri), version: document.version },
    position: { line, character },
  });
}

async function documentAt(place: Place | undefined): Promise<vscode.TextDocument | undefined> {
  const document =
    place === undefined
      ? vscode.window.activeTextEditor?.document
      : await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri));
  return document?.languageId === "python" ? document : undefined;
}

/** Returns whether there is an answer other than a refusal; shows a refusal, which gives the reason. */
export function isPossible(answer: Converted | undefined): answer is Converted {
  if (answer === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("The running server does not support this yet."));
    return false;
  }
  if (answer.refused !== null) {
    void vscode.window.showInformationMessage(`MeshLens: ${answer.refused.message}`);
    return false;
  }
  return true;
}

/**
 * Asks for the axis name and the devices; returns undefined if the user cancels.
 *
 * @param title - the title of the prompts
 * @param to - the target: a pmap takes a number of devices, everything else a mesh
 * @param defaults - the initial answers
 */
export async function askUser(title: string, to: Map, defaults: Answers): Promise<Answers | undefined> {
  const axisName = await vscode.window.showInputBox({
    title: `${title} (1/2)`,
    prompt: vscode.l10n.t("The name of the axis over the devices; collectives such as pmean refer to it"),
    value: defaults.axisName,
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === "" ? vscode.l10n.t("An axis needs a name") : undefined),
  });
  if (axisName === undefined) {
    return undefined;
  }
  const isMesh = to !== "pmap";
  const devices = await vscode.window.showInputBox({
    title: `${title} (2/2)`,
    prompt: isMesh
      ? vscode.l10n.t("The mesh of devices: a number, or a shape such as 4x2; empty for all devices in one row")
      : vscode.l10n.t("The number of devices; empty for all of them"),
    value: defaults.devices,
    ignoreFocusOut: true,
    validateInput: (value) => (areDevices(value.trim(), isMesh) ? undefined : wrongDevices(isMesh)),
  });
  return devices === undefined ? undefined : { axisName: axisName.trim(), devices: devices.trim() };
}

function wrongDevices(isMesh: boolean): string {
  return isMesh
    ? vscode.l10n.t("A number such as 8, or a shape such as 4x2")
    : vscode.l10n.t("A number such as 8: a pmap has one axis of devices");
}

/** Applies an edit, with a preview if it changes several places or a place that is not visible. */
export async function apply(client: LanguageClient, { edit, places }: Converted, title: string): Promise<void> {
  const whole = await client.protocol2CodeConverter.asWorkspaceEdit(edit);
  if (whole === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There is nothing to change."));
    return;
  }
  const shown = places > 1 || !isInView(whole) ? withPreview(whole, title) : whole;
  await vscode.workspace.applyEdit(shown, { isRefactoring: true });
}

/** Returns whether every place that an edit changes is visible. */
function isInView(edit: vscode.WorkspaceEdit): boolean {
  return edit.entries().every(([uri, changes]) => {
    const editors = vscode.window.visibleTextEditors.filter(
      ({ document }) => document.uri.toString() === uri.toString(),
    );
    const visible = editors.flatMap(({ visibleRanges }) => visibleRanges);
    return changes.every(({ range }) => visible.some((one) => one.contains(range)));
  });
}

function titleOf(to: Map): string {
  return to === "pmap" ? vscode.l10n.t("Convert function to pmap") : vscode.l10n.t("Convert pmap to shard_map");
}
