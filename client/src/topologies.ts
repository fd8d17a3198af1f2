// The devices that a program can be meant for, as the quick pick offers them.

/** One that can be chosen. */
export interface Topology {
  /** What the setting `meshlens.devices` becomes; empty takes it away. */
  readonly value: string;
  readonly description: string;
}

const COMMON: readonly Topology[] = [
  { value: "1", description: "one device" },
  { value: "2", description: "two devices" },
  { value: "4", description: "four devices" },
  { value: "8", description: "eight devices, a common host" },
  { value: "2x4", description: "eight devices in two rows" },
  { value: "4x4", description: "sixteen devices in four rows" },
  { value: "v5e-8", description: "TPU v5e, one host of eight chips" },
  { value: "v5e-16", description: "TPU v5e, sixteen chips" },
  { value: "v4-8", description: "TPU v4, four chips" },
  { value: "v6e-8", description: "TPU v6e (Trillium), one host of eight chips" },
  { value: "8xH100", description: "one host with eight NVIDIA H100" },
];

/**
 * What to offer: what is set now first, then the common ones.
 *
 * @param current - what is set now; empty for nothing
 */
export function topologies(current: string): Topology[] {
  const known = COMMON.find(({ value }) => value === current);
  const first = current === "" ? [] : [known ?? { value: current, description: "" }];
  return [...first, ...COMMON.filter((one) => one !== known)];
}

/** Whether a text can mean devices: `8`, `2x4`, `v5e-16`, `8xH100`; the server knows it exactly. */
export function mayBeTopology(text: string): boolean {
  return /^(?:detected|[1-9]\d*(?:\s*[x×*,]\s*[1-9]\d*)*(?:x[a-z]\w*)?|(?:v\d+\w*|trillium)-\d+(?:x\d+)*)$/i.test(
    text.trim(),
  );
}
