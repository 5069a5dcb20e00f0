import type { Preset } from "./preset.ts";

/** The endpoint of a method's settings, below its mount. */
export const configPath = ({ method }: Pick<Preset, "method">): string =>
  method === "aws" ? "config/client" : "config";
