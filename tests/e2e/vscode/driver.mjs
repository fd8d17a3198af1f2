// Drives a VS Code workbench in Debian's chromium, as somebody with a keyboard and a mouse would.
import { chromium } from "playwright-core";
import fs from "node:fs";
import path from "node:path";

const { address, workspace, shots, chromium: executablePath } = JSON.parse(process.env.SCENARIO);
const QUICK_INPUT = '.quick-input-widget:not([style*="display: none"])';
const EDITOR = ".editor-instance";

/** Opens the workspace and runs a scenario; what it returns is told on stdout, and a screenshot is taken if it fails. */
export async function play(scenario) {
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  });
  const context = await browser.newContext({ viewport: { width: 1120, height: 700 } });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  const workbench = new Workbench(page);
  try {
    await page.goto(`${address}?folder=${encodeURIComponent(workspace)}`);
    await page.locator(".monaco-workbench .part.editor").waitFor({ timeout: 60_000 });
    await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor({ timeout: 60_000 });
    console.log(JSON.stringify((await scenario(workbench, page)) ?? {}));
  } catch (error) {
    await workbench.shot(`failed-${path.basename(process.argv[1], ".mjs")}`);
    console.error(error.stack);
    process.exitCode = 1;
  }
  await browser.close();
}

export class Workbench {
  constructor(page) {
    this.page = page;
    this.workspace = workspace;
  }

  async shot(name) {
    await this.page.screenshot({ path: path.join(shots, `${name}.png`) });
  }

  /** A screenshot of something that newer releases fade in. */
  async faded(name) {
    await this.page.waitForTimeout(400);
    await this.shot(name);
  }

  /** Opens a file by its name and puts the caret on a line and column. */
  async open(file, line = 1, column = 1) {
    await this.#choose("Control+p", file, path.basename(file));
    await this.page.locator(".tab.active", { hasText: path.basename(file) }).waitFor();
    await this.goto(line, column);
  }

  async openNotebook(file) {
    await this.#choose("Control+p", file, path.basename(file));
    await this.page.locator(".notebookOverlay .cell-list-container .view-line").first().waitFor({ timeout: 60_000 });
  }

  async goto(line, column = 1) {
    await this.#choose("Control+g", `:${line}:${column}`, `Go to line ${line}`);
    await this.page.locator(".quick-input-widget").first().waitFor({ state: "hidden" });
  }

  /** Puts the caret behind the first occurrence of a text in a file of the workspace as it is on the disk. */
  async find(file, text) {
    const content = this.read(file);
    const at = content.indexOf(text);
    if (at < 0) throw new Error(`there is no "${text}" in ${file}`);
    const before = content.slice(0, at + text.length).split("\n");
    await this.open(file, before.length, before.at(-1).length + 1);
  }

  /** Runs a command of the palette. */
  async command(title) {
    await this.#choose("F1", `>${title}`, title);
  }

  /**
   * Opens the box that a key opens, and takes a row of what is shown for a text.
   *
   * While another box closes, the key is lost or the text goes into that one.
   */
  async #choose(key, typed, shown) {
    const row = this.page.locator(`${QUICK_INPUT} .monaco-list-row`, { hasText: shown }).first();
    for (let attempt = 0; ; attempt += 1) {
      await this.page.keyboard.press(key);
      try {
        await this.quickInput().fill(typed, { timeout: 5000 });
        await row.click({ timeout: 15_000 });
        return;
      } catch (error) {
        if (attempt === 5) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
  }

  quickInput() {
    return this.page.locator(`${QUICK_INPUT} input`).first();
  }

  /** Waits for a question of the extension, answers it, and gives what was offered; a screenshot of it gets a name. */
  async answer(question, text, name) {
    await this.page.locator(QUICK_INPUT, { hasText: question }).waitFor();
    const offered = await this.quickInput().inputValue();
    if (name !== undefined) await this.faded(name);
    await this.quickInput().fill(text);
    await this.page.keyboard.press("Enter");
    return offered;
  }

  squiggles(kind = "error") {
    return this.page.locator(`${EDITOR} .squiggly-${kind}`);
  }

  /**
   * Moves the mouse onto a place until a hover has some words in it, and gives its text.
   *
   * A hover that was asked for before the server had read the project is empty and stays so.
   */
  async hover(place, words) {
    const shown = this.page.locator(".monaco-hover:not(.hidden)", { hasText: words }).first();
    for (let turn = 0; ; turn += 1) {
      try {
        // None while what is underlined is drawn anew.
        const box = await place.boundingBox();
        await this.page.mouse.move(box.x + 6, box.y - 60);
        await this.page.mouse.move(box.x + 6, box.y + box.height / 2, { steps: 4 });
        await shown.waitFor({ timeout: 3000 });
        await this.page.waitForTimeout(300);
        return await shown.innerText();
      } catch (error) {
        if (turn === 10) throw error;
      }
    }
  }

  /** Shows the hover of the caret's place, as the keyboard does, until it has some words in it, and gives its text. */
  async hoverAtCaret(words) {
    const shown = this.page.locator(".monaco-hover:not(.hidden)", { hasText: words }).first();
    for (let turn = 0; ; turn += 1) {
      await this.command("Show or Focus Hover");
      try {
        await shown.waitFor({ timeout: 3000 });
        return await shown.innerText();
      } catch (error) {
        if (turn === 10) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
  }

  /** Chooses from the menu that Control+. opens at the caret; a screenshot of the menu gets a name. */
  async act(title, name) {
    const row = this.page.locator(".action-widget .monaco-list-row.action", { hasText: title }).first();
    // Asked too early, VS Code says once that there is nothing.
    for (let turn = 0; ; turn += 1) {
      await this.page.keyboard.press("Control+.");
      try {
        await row.waitFor({ timeout: 5000 });
        break;
      } catch (error) {
        if (turn === 6) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
    const isFocused = async () => (await row.getAttribute("class")).split(" ").includes("focused");
    for (let turn = 0; turn < 20 && !(await isFocused()); turn += 1) await this.page.keyboard.press("ArrowDown");
    if (name !== undefined) await this.shot(name);
    await this.page.keyboard.press("Enter");
  }

  /** The visible lines of the editor that has the focus. */
  async text() {
    const lines = await this.page.locator(`${EDITOR} .view-line`).evaluateAll((found) =>
      found
        .sort((one, other) => parseFloat(one.style.top) - parseFloat(other.style.top))
        .map((line) => line.textContent.replaceAll("\u00a0", " ")),
    );
    return lines.join("\n");
  }

  read(file) {
    return fs.readFileSync(path.join(workspace, file), "utf8");
  }

  /** Saves everything, and waits until a file says what it should. */
  async save(file, isRight) {
    await this.command("File: Save All");
    await this.until(() => isRight(this.read(file)), () => `${file} is\n${this.read(file)}`);
  }

  /** Waits for something that no selector tells. */
  async until(holds, otherwise = () => "it did not come") {
    for (let turn = 0; turn < 200; turn += 1) {
      if (await holds()) return;
      await this.page.waitForTimeout(100);
    }
    throw new Error(await otherwise());
  }

  /** The item of the status bar that is ours. */
  status() {
    return this.page.locator('.statusbar-item[id^="meshlens"]').first();
  }

  /** Waits until the server has read what it reads when it starts. */
  async ready() {
    const busy = this.status().locator(".codicon-modifier-spin");
    await this.status().waitFor({ timeout: 60_000 });
    await this.until(async () => (await busy.count()) === 0, () => "the status item stays busy");
  }

  toasts() {
    return this.page.locator(".notifications-toasts .notification-list-item");
  }
}

export function check(holds, message) {
  if (!holds) throw new Error(message);
}
