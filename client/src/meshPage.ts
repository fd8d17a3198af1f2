// The page of the "Devices and Meshes" view: meshes as tables of devices, functions with the axes bound while they run.

import { meshTable } from "./meshTable";
import type { Axis, Focus, MappedFunction, Mesh, Meshes, Range } from "./requests";

/** The text of the page, in the user's language. */
export interface Words {
  readonly title: string;
  readonly focus: string;
  readonly devices: string;
  readonly meshes: string;
  readonly functions: string;
  readonly noMeshes: string;
  readonly positions: string;
  readonly noFunctions: string;
  readonly noAxes: string;
  readonly language: string;
}

/** The contents of the page. */
export interface Shown {
  /** The name of the file. */
  readonly file: string;
  /** The devices in a few words; empty if they are unknown. */
  readonly devices: string;
  readonly content: Meshes;
}

const STYLE = `
body { background: var(--vscode-sideBar-background); color: var(--vscode-foreground); font: var(--vscode-font-size) var(--vscode-font-family); padding: 0 12px 12px; }
h2 { font-size: 11px; font-weight: 600; text-transform: uppercase; margin: 14px 0 6px;
  color: var(--vscode-sideBarSectionHeader-foreground, var(--vscode-foreground)); }
p { margin: 4px 0; color: var(--vscode-descriptionForeground); }
ul { list-style: none; margin: 0; padding: 0; }
button { all: unset; box-sizing: border-box; width: 100%; padding: 2px 4px; cursor: pointer; border-radius: 3px; }
button:hover { background: var(--vscode-list-hoverBackground); }
button:focus-visible { outline: 1px solid var(--vscode-focusBorder); }
.file { font-weight: normal; text-transform: none; color: var(--vscode-descriptionForeground); }
code { font-family: var(--vscode-editor-font-family); color: inherit; }
.axis { display: inline-block; margin: 1px 0 1px 4px; padding: 0 6px; border-radius: 8px; font-size: 11px;
  border: 1px solid var(--vscode-contrastBorder, var(--vscode-widget-border, transparent)); }
td.corner { border: none; background: none; min-width: 0; }
h1 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.detail { font-size: 11px; }
.focus { border-left: 2px solid var(--vscode-focusBorder); padding-left: 8px; }
${Array.from({ length: 6 }, (_, number) => colorsOf(number)).join("\n")}
.binder { margin-left: 4px; color: var(--vscode-descriptionForeground); }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 3px; margin: 2px 0 8px; }
caption { text-align: left; color: var(--vscode-descriptionForeground); font-size: 11px; }
th { font-weight: normal; font-size: 11px; color: var(--vscode-descriptionForeground); padding: 0 4px; text-align: left; }
td { min-width: 22px; height: 22px; text-align: center; font-size: 11px; border-radius: 3px;
  color: var(--vscode-foreground); background: var(--vscode-editorWidget-background);
  border: 1px solid var(--vscode-contrastBorder, var(--vscode-charts-blue)); }
`;

function colorsOf(number: number): string {
  const color = `var(--vscode-meshlens-axis${number + 1})`;
  return `.c${number} { color: ${color}; font-weight: 600; }
td.g${number} { background: color-mix(in srgb, ${color} 22%, var(--vscode-editor-background)); border-color: ${color}; }`;
}

// The page's only script: it reports which place was chosen, by mouse or keyboard.
const SCRIPT = `
const api = acquireVsCodeApi();
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-range]");
  if (button) api.postMessage({ range: JSON.parse(button.dataset.range) });
});
`;

/**
 * Returns the page as HTML.
 *
 * @param shown - what to show; undefined if there is nothing
 * @param words - the text of the page
 * @param nonce - the nonce that permits only the page's own style and script
 */
export function meshPage(shown: Shown | undefined, words: Words, nonce: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="${escaped(words.language)}">
<head>
<title>${escaped(words.title)}</title>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body><main><h1>${escaped(words.title)}</h1>${shown === undefined ? `<p>${escaped(words.noMeshes)}</p>` : body(shown, words)}</main>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

/** Escapes text for HTML. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => names[character] ?? character);
}

function body({ file, devices, content }: Shown, words: Words): string {
  const focus = content.focus ?? undefined;
  const meshes = content.meshes.map((mesh) => meshPart(mesh)).join("");
  const functions = content.functions.map((one) => functionPart(one, words)).join("");
  return `
${focus === undefined ? "" : focusPart(focus, words)}
${devices === "" ? "" : `<h2>${escaped(words.devices)}</h2><p>${escaped(devices)}</p>`}
<h2>${escaped(words.meshes)} <span class="file">${escaped(file)}</span></h2>
${meshes === "" ? `<p>${escaped(words.noMeshes)}</p>` : meshes}
${content.meshes.some(showsPositions) ? `<p>${escaped(words.positions)}</p>` : ""}
<h2>${escaped(words.functions)}</h2>
${functions === "" ? `<p>${escaped(words.noFunctions)}</p>` : `<ul>${functions}</ul>`}`;
}

function showsPositions(mesh: Mesh): boolean {
  return mesh.devices === null && meshTable(mesh, escaped).startsWith("<table>");
}

/** Returns a drawing of what the cursor is on, over its mesh. */
function focusPart(focus: Focus, words: Words): string {
  const table = meshTable(focus, escaped, focus.cells);
  return `<h2>${escaped(words.focus)}</h2>
<div class="focus"><code>${escaped(shortened(focus.label))}</code>${chips(focus.axes)}
<p class="detail">${escaped(focus.detail)}</p><div class="scroll">${table}</div></div>`;
}

function shortened(label: string): string {
  const line = label.replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

function meshPart(mesh: Mesh): string {
  const heading = `<code>${escaped(mesh.label)}</code>${chips(mesh.axes)}`;
  return `<div>${link(mesh.range, heading)}<div class="scroll">${meshTable(mesh, escaped)}</div></div>`;
}

function functionPart({ name, range, axes, binder }: MappedFunction, words: Words): string {
  const under = axes.length === 0 ? `<span class="binder">${escaped(words.noAxes)}</span>` : chips(axes);
  const by = binder === "" ? "" : `<span class="binder">${escaped(binder)}</span>`;
  return `<li>${link(range, `<code>${escaped(name)}</code>${by}${under}`)}</li>`;
}

function chips(axes: readonly Axis[]): string {
  return axes
    .map(({ name, size, color }) => {
      const own = color === undefined || color === null ? "" : ` c${color % 6}`;
      return `<span class="axis${own}">${escaped(`${name}: ${size ?? "?"}`)}</span>`;
    })
    .join("");
}

function link(range: Range, content: string): string {
  return `<button data-range="${escaped(JSON.stringify(range))}">${content}</button>`;
}
