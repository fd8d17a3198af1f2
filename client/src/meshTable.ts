// Draws a mesh as tables: the last axis runs across, the one before it down, and all others give one table each.

import type { Axis, Focus, Mesh } from "./requests";

const MOST_CELLS = 256;

/**
 * Returns the devices of a mesh as HTML; if their order is unknown, the cells number the positions in the mesh.
 *
 * @param mesh - the mesh; if a size is unknown, there is nothing to draw
 * @param escaped - escapes text for HTML
 * @param held - what each device holds, row by row, with the number of its group
 */
export function meshTable(
  { axes, devices }: Pick<Mesh, "axes" | "devices">,
  escaped: (text: string) => string,
  held?: Focus["cells"],
): string {
  const sizes = axes.map(({ size }) => size);
  if (axes.length === 0 || !sizes.every((size) => size !== null)) {
    return "";
  }
  const count = sizes.reduce((product, size) => product * size, 1);
  if (count > MOST_CELLS) {
    return `<p>${escaped(`${sizes.join(" × ")} = ${count}`)}</p>`;
  }
  const [across, columns] = [axes.at(-1), sizes.at(-1) ?? 1];
  const [down, rows] = [axes.at(-2), sizes.at(-2) ?? 1];
  const outer = axes.slice(0, -2);
  const tables: string[] = [];
  for (let first = 0; first < count; first += rows * columns) {
    const cells = (row: number) =>
      Array.from({ length: columns }, (_, column) => {
        const index = first + row * columns + column;
        const title = axes.map(({ name }, axis) => `${name} ${placeOn(sizes, axis, index)}`).join(", ");
        const on = held?.[index];
        const group = on === undefined ? "" : ` class="g${on.group % 6}"`;
        const text = on === undefined ? "" : `<br>${escaped(on.text)}`;
        return `<td title="${escaped(title)}"${group}>${devices?.[index] ?? index}${text}</td>`;
      }).join("");
    const body = Array.from({ length: rows }, (_, row) => `<tr>${rowHeading(down, row, escaped)}${cells(row)}</tr>`);
    const where = outer.map(({ name }, axis) => `${name} ${placeOn(sizes, axis, first)}`).join(", ");
    const caption = where === "" ? "" : `<caption>${escaped(where)}</caption>`;
    tables.push(`<table>${caption}${columnHeadings(across, columns, down, escaped)}${body.join("")}</table>`);
  }
  return tables.join("");
}

/** Returns the position along an axis of the device with this number. */
function placeOn(sizes: readonly number[], axis: number, index: number): number {
  const inner = sizes.slice(axis + 1).reduce((product, size) => product * size, 1);
  return Math.floor(index / inner) % (sizes[axis] ?? 1);
}

function columnHeadings(
  across: Axis | undefined,
  columns: number,
  down: Axis | undefined,
  escaped: (text: string) => string,
): string {
  const corner = down === undefined ? "" : '<td class="corner"></td>';
  return `<tr>${corner}<th scope="colgroup" colspan="${columns}"${colorOf(across)}>${escaped(across?.name ?? "")} →</th></tr>`;
}

function rowHeading(down: Axis | undefined, row: number, escaped: (text: string) => string): string {
  return down === undefined ? "" : `<th scope="row"${colorOf(down)}>${escaped(down.name)} ${row}</th>`;
}

/** Returns the class of an axis's color, as an attribute. */
function colorOf(axis: Axis | undefined): string {
  const { color } = axis ?? {};
  return color === undefined || color === null ? "" : ` class="c${color % 6}"`;
}
