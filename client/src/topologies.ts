// The devices that a program can be meant for, as the quick pick offers them.

const COMMON = ["1", "2", "4", "8", "2x4", "4x4", "v5e-8", "v5e-16", "v4-8", "v6e-8", "8xH100"] as const;

/** One of those that are always offered. */
export type Common = (typeof COMMON)[number];

/**
 * What to offer, as the setting `meshlens.devices` would have it: what holds now first, then the common ones.
 *
 * @param current - what holds now; empty for nothing
 */
export function topologies(current: string): string[] {
  const first = current === "" ? [] : [current];
  return [...first, ...COMMON.filter((one) => one !== current)];
}

/** Whether a text can mean devices: `8`, `2x4`, `v5e-16`, `8xH100`; the server knows it exactly. */
export function mayBeTopology(text: string): boolean {
  return /^(?:detected|[1-9]\d*(?:\s*[x×*,]\s*[1-9]\d*)*(?:x[a-z]\w*)?|(?:v\d+\w*|trillium)-\d+(?:x\d+)*)$/i.test(
    text.trim(),
  );
}

/** Whether a text is a number of devices, or the shape of a mesh where one is wanted; empty stands for all. */
export function areDevices(text: string, isMesh: boolean): boolean {
  return (isMesh ? /^([1-9]\d*(\s*[x×,]\s*[1-9]\d*)*)?$/i : /^([1-9]\d*)?$/).test(text);
}
