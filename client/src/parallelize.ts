// "Parallelize over devices": asks how and over what, then previews the edit; if that fails, says why and what works.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { apply, askUser, isPossible, type Place, type Subject, subjectAt } from "./convert";
import { CONVERT, type Way, WAYS, type Ways } from "./requests";

const WHICH_BATCH = "which-batch";

interface Item extends vscode.QuickPickItem {
  readonly way: Way;
}

/**
 * Asks how to run a function on several devices, and converts it.
 *
 * @param client - the client of the server that computes the edit
 * @param abilities - what that server supports
 * @param place - the place of the function; the cursor if omitted
 */
export async function parallelize(client: LanguageClient, abilities: Abilities, place?: Place): Promise<void> {
  const subject = await subjectAt(client, place);
  if (subject === undefined) {
    return;
  }
  const found = await abilities.ask(client, WAYS, subject());
  if (found === undefined || found.name === null) {
    const message =
      found === undefined
        ? vscode.l10n.t("The running server does not support this yet.")
        : vscode.l10n.t("Put the cursor on a function first.");
    void vscode.window.showInformationMessage(message);
    return;
  }
  const way = await chosen(found);
  if (way !== undefined) {
    await go(client, abilities, subject, found, way);
  }
}

/** Asks how to parallelize. */
async function chosen({ name, ways }: Ways): Promise<Way | undefined> {
  const items = ways.map((way): Item => ({
    label: isClosed(way) ? `$(circle-slash) ${way.title}` : way.title,
    detail: way.refused?.message ?? way.detail,
    way,
  }));
  const title = vscode.l10n.t("Parallelize {0} over devices", name ?? "");
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDetail: true, ignoreFocusOut: true });
  return picked?.way;
}

/** Returns whether a way is refused; it is not if only the batch argument is unclear. */
function isClosed({ refused }: Way): boolean {
  return refused !== null && refused.code !== WHICH_BATCH;
}

async function go(
  client: LanguageClient,
  abilities: Abilities,
  subject: () => Subject,
  found: Ways,
  way: Way,
): Promise<void> {
  if (isClosed(way)) {
    const other = await instead(found, way);
    if (other !== undefined) {
      await go(client, abilities, subject, found, other);
    }
    return;
  }
  const batch = way.refused === null ? undefined : await askBatch(way, found.arguments);
  if (way.refused !== null && batch === undefined) {
    return;
  }
  const answers = await askUser(way.title, way.to, found.defaults);
  if (answers === undefined) {
    return;
  }
  const { to, strategy } = way;
  const said = batch === undefined ? {} : { batch };
  const last = await abilities.ask(client, CONVERT, { to, strategy, ...said, ...subject(), ...answers });
  if (isPossible(last)) {
    await apply(client, last, way.title);
  }
}

/** Says why a way is refused, with a button for the best one that is not. */
async function instead({ ways }: Ways, { refused }: Way): Promise<Way | undefined> {
  const open = ways.find((way) => !isClosed(way));
  const text = `MeshLens: ${refused?.message ?? ""}`;
  if (open === undefined) {
    void vscode.window.showInformationMessage(text);
    return undefined;
  }
  const use = vscode.l10n.t("Use {0}", open.title);
  return (await vscode.window.showInformationMessage(text, use)) === use ? open : undefined;
}

/** Asks which argument holds the batch, and along which axis its rows lie. */
async function askBatch({ title }: Way, names: readonly string[]): Promise<string | undefined> {
  const name = await vscode.window.showQuickPick(names, {
    title,
    placeHolder: vscode.l10n.t("Which argument holds the batch?"),
    ignoreFocusOut: true,
  });
  if (name === undefined) {
    return undefined;
  }
  const axis = await vscode.window.showInputBox({
    title,
    prompt: vscode.l10n.t("The axis of the batch that runs over its rows: 0, or 1 if the first axis is time"),
    value: "0",
    ignoreFocusOut: true,
    validateInput: (value) => (/^\d+$/.test(value.trim()) ? undefined : vscode.l10n.t("Enter a number, 0 or higher")),
  });
  return axis === undefined ? undefined : `${name}:${axis.trim()}`;
}
