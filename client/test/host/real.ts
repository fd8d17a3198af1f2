// With the real server: findings, settings, the lightbulb, a crash.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { findings, open, type Suite, until, withSetting } from "./harness";

const TYPO = "01_two_files_one_axis/sync.py";

async function debugInformation(): Promise<string> {
  await vscode.commands.executeCommand("meshlens.showDebugInformation");
  const text = vscode.window.activeTextEditor?.document.getText() ?? "";
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  return text;
}

async function serverProcess(): Promise<number> {
  return until("the server", async () => {
    const found = /^process (\d+)/m.exec(await debugInformation());
    return found?.[1] === undefined ? undefined : Number(found[1]);
  });
}

export const real: Suite = {
  tests: {
    "a typo across two files is found": async () => {
      const [finding] = await findings(await open(TYPO), "AX101");
      assert.match(finding?.message ?? "", /"bacth" is not bound here/);
      assert.ok((finding?.relatedInformation ?? []).length > 0);
    },

    "the settings of a user reach the server, and go again": async () => {
      const document = await open(TYPO);
      await withSetting("ignore", ["AX101"], () => findings(document));
      await findings(document, "AX101");
    },

    "the lightbulb offers one action that asks how to parallelize": async () => {
      const document = await open("single.py", "step(params");
      await until("the server to know the file", () => vscode.languages.getDiagnostics(document.uri));
      const at = document.positionAt(document.getText().indexOf("step(params"));
      const titles = await until("the lightbulb", async () => {
        const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
          "vscode.executeCodeActionProvider",
          document.uri,
          new vscode.Range(at, at),
        );
        const found = actions.map(({ title }) => title).filter((title) => title.includes("arallelize"));
        return found.length > 0 ? found : undefined;
      });
      assert.deepEqual(titles, ["Parallelize over devices…"]);
    },

    "the debug information has both sides": async () => {
      const text = await debugInformation();
      assert.match(text, /^MeshLens \d.* for VS Code/m);
      assert.match(text, /^workspace: 1 folders, trusted$/m);
      assert.match(text, /^client: .*utf-16/m);
    },

    "a server that is killed comes back by itself": async () => {
      const before = await serverProcess();
      process.kill(before, "SIGKILL");
      const after = await until("another process", async () => {
        const now = await serverProcess();
        return now === before ? undefined : now;
      });
      assert.notEqual(after, before);
      await findings(await open(TYPO), "AX101");
    },

    "a restart gives the same findings": async () => {
      const document = await open(TYPO);
      const before = await serverProcess();
      await vscode.commands.executeCommand("meshlens.restart");
      assert.notEqual(await serverProcess(), before);
      await findings(document, "AX101");
    },

    "switched off, it says nothing; switched on, it does again": async () => {
      const document = await open(TYPO);
      await withSetting("enable", false, () => findings(document));
      await findings(document, "AX101");
    },
  },
};
