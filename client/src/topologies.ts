// The target devices that the quick pick offers.

const COMMON = ["1", "2", "4", "8", "2x4", "4x4", "v5e-8", "v5e-16", "v4-8", "v6e-8", "8xH100"] as const;

/** A choice that is always offered. */
export type Common = (typeof COMMON)[number];

/**
 * Returns the choices, in the form of the setting `meshlens.devices`: the current one first, then common ones.
 *
 * @param current - the current one; empty for none
 */
export function topologies(current: string): string[] {
  const first = current === "" ? [] : [current];
  return [...first, ...COMMON.filter((one) => one !== current)];
}

/** Returns whether a string can describe devices, such as `8`, `2x4`, `v5e-16` or `8xH100`; the server decides. */
export function mayBeTopology(text: string): boolean {
  return /^(?:detected|[1-9]\d*(?:\s*[x×*,]\s*[1-9]\d*)*(?:x[a-z]\w*)?|(?:v\d+\w*|trillium)-\d+(?:x\d+)*)$/i.test(
    text.trim(),
  );
}

/** Returns whether a string is a number of devices, or a mesh shape where one is wanted; empty means all devices. */
export function areDevices(text: string, isMesh: boolean): boolean {
  return (isMesh ? /^([1-9]\d*(\s*[x×,]\s*[1-9]\d*)*)?$/i : /^([1-9]\d*)?$/).test(text);
}
