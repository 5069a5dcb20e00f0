import type { Preset, PresetValues } from "./preset.ts";

const MOUNT = /^[a-z0-9](?:[a-z0-9/_-]{0,62}[a-z0-9])?$/;

export const trimmed = (values: PresetValues): PresetValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()]));

/** What is missing or wrong before there can be a plan; "" when nothing is. */
export function valuesProblem({ fields, mount }: Preset, values: PresetValues): string {
  const clean = trimmed(values);
  const missing = fields.filter(({ name }) => (clean[name] ?? "") === "").map(({ label }) => label);
  if (missing.length > 0) return `Still missing: ${missing.join(", ")}.`;
  const bad = fields.find(({ name, wrong }) => wrong(clean[name] ?? "") !== "");
  if (bad) return `${bad.label}: ${bad.wrong(clean[bad.name] ?? "")}`;
  return MOUNT.test(clean.mount ?? mount) ? "" : "Path: small letters, digits, dashes and slashes.";
}
