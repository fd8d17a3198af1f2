// "Choose Target Topology": a quick pick that writes the setting `meshlens.devices`.

import * as vscode from "vscode";
import { SECTION } from "./settings";
import { mayBeTopology, topologies } from "./topologies";

type Item = vscode.QuickPickItem & { readonly value: string | undefined };

/**
 * Asks what devices the code is meant for and notes it for this workspace, or for the user where none is open.
 *
 * @param known - what the server knows the code to be meant for: a configuration file may say it too
 */
export async function chooseTopology(known: string | undefined): Promise<void> {
  const resource = vscode.window.activeTextEditor?.document.uri;
  const section = vscode.workspace.getConfiguration(SECTION, resource);
  const set = String(section.get<string | number | null>("devices") ?? "");
  const value = await ask(set === "" ? (known ?? "") : set);
  if (value === undefined) {
    return;
  }
  const target =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await section.update("devices", value === "" ? undefined : value, target);
}

/** What the user chose; empty for no topology, undefined for no answer. */
async function ask(current: string): Promise<string | undefined> {
  const { t } = vscode.l10n;
  const items: Item[] = [
    ...topologies(current).map(({ value, description }): Item => ({
      label: value,
      description: value === current ? t("set now") : t(description),
      value,
    })),
    { label: t("Another…"), description: t("a number, a shape, a TPU slice or GPUs"), value: undefined },
    { label: t("None"), description: t("rules that count devices stay silent"), value: "" },
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title: t("Choose Target Topology"),
    placeHolder: t("Which devices is the code meant for, whatever machine it is written on?"),
    matchOnDescription: true,
  });
  return chosen === undefined || chosen.value !== undefined ? chosen?.value : await askFreely(current);
}

function askFreely(current: string): Promise<string | undefined> {
  const { t } = vscode.l10n;
  const answer = vscode.window.showInputBox({
    title: t("Choose Target Topology"),
    prompt: t("A number (8), a shape (2x4), a TPU slice (v5e-16) or GPUs (8xH100)"),
    value: current,
    validateInput: (text) => (mayBeTopology(text) ? undefined : t("This means no devices")),
  });
  return Promise.resolve(answer).then((text) => text?.trim());
}
