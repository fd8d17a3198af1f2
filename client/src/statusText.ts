// The text of the status item.

/** What is known about the server and the devices. */
export interface Known {
  readonly condition: "stopped" | "starting" | "running" | "failed";
  readonly isBusy: boolean;
  /** The devices in a few words; empty if the server does not say. */
  readonly devices: string;
}

/** The label of the item, with its icon. */
export function statusText({ condition, isBusy, devices }: Known): string {
  const label = devices === "" ? "MeshLens" : devices;
  switch (condition) {
    case "failed":
      return "$(error) MeshLens";
    case "stopped":
      return "$(circle-slash) MeshLens";
    case "starting":
      return "$(loading~spin) MeshLens";
    case "running":
      return `$(${isBusy ? "loading~spin" : "server"}) ${label}`;
  }
}
