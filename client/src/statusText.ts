// What the status item says, as text.

/** What is known of the server and of the devices. */
export interface Known {
  readonly condition: "stopped" | "starting" | "running" | "failed";
  readonly isBusy: boolean;
  /** The devices in a few words; empty where the server does not say. */
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
