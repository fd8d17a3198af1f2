// "Choose Target Topology": a quick pick that writes the setting `meshlens.devices`.

import * as vscode from "vscode";
import { SECTION } from "./settings";
import { type Common, mayBeTopology, topologies } from "./topologies";

type Item = vscode.QuickPickItem & { readonly value: string | undefined };

/**
 * Asks for the target devices and writes them to the workspace settings, or to the user settings if no folder is open.
 *
 * @param known - the target that the server knows of, which may also come from a configuration file
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

/** Returns the user's choice; empty for no topology, undefined if the user cancels. */
async function ask(current: string): Promise<string | undefined> {
  const described = descriptions();
  const items: Item[] = [
    ...topologies(current).map((value): Item => {
      const description = value === current ? vscode.l10n.t("current") : (described[value as Common] ?? "");
      return { label: value, description, value };
    }),
    {
      label: vscode.l10n.t("Other…"),
      description: vscode.l10n.t("a number, a shape, a TPU slice or GPUs"),
      value: undefined,
    },
    { label: vscode.l10n.t("None"), description: vscode.l10n.t("rules that count devices stay silent"), value: "" },
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Choose Target Topology"),
    placeHolder: vscode.l10n.t("Which devices is the code meant for?"),
    matchOnDescription: true,
  });
  return chosen === undefined || chosen.value !== undefined ? chosen?.value : await askFreely(current);
}

function askFreely(current: string): Promise<string | undefined> {
  const answer = vscode.window.showInputBox({
    title: vscode.l10n.t("Choose Target Topology"),
    prompt: vscode.l10n.t("A number (8), a shape (2x4), a TPU slice (v5e-16) or GPUs (8xH100)"),
    value: current,
    validateInput: (text) => (mayBeTopology(text) ? undefined : vscode.l10n.t("MeshLens does not know these devices")),
  });
  return Promise.resolve(answer).then((text) => text?.trim());
}

function descriptions(): Partial<Record<Common, string>> {
  return {
    "1": vscode.l10n.t("one device"),
    "2": vscode.l10n.t("two devices"),
    "4": vscode.l10n.t("four devices"),
    "8": vscode.l10n.t("eight devices, a typical host"),
    "2x4": vscode.l10n.t("eight devices in two rows"),
    "4x4": vscode.l10n.t("sixteen devices in four rows"),
    "v5e-8": vscode.l10n.t("TPU v5e, one host of eight chips"),
    "v5e-16": vscode.l10n.t("TPU v5e, sixteen chips"),
    "v4-8": vscode.l10n.t("TPU v4, four chips"),
    "v6e-8": vscode.l10n.t("TPU v6e (Trillium), one host of eight chips"),
    "8xH100": vscode.l10n.t("one host with eight NVIDIA H100s"),
  };
}
