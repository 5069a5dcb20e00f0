import type { Preset, PresetValues } from "./preset.ts";

const MOUNT = /^[a-z0-9](?:[a-z0-9/_-]{0,62}[a-z0-9])?$/;

/** An origin that needs no quotes in a shell or in YAML. */
const ORIGIN = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?$/;

/** Hosts of the local machine, by which other machines can't reach the server. */
const OWN_MACHINE = /^https?:\/\/(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])(?::\d+)?$/i;

export const trimmed = (values: PresetValues): PresetValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()]));

/** Initial values of the form. `origin`: that of the console. */
export const valuesWithUsual = ({ mount, fields }: Preset, origin: string): PresetValues => ({
  ...Object.fromEntries(fields.flatMap(({ name, usual }) => (usual === undefined ? [] : [[name, usual]]))),
  mount,
  address: origin,
});

/** Missing and wrong values that prevent a plan, by the names of the fields, in their order. */
export function mistakesIn({ fields }: Preset, values: PresetValues): Map<string, string> {
  const { mount = "", address = "" } = values;
  const all = fields.map(({ name, wrong, isOptional = false }) => {
    const value = values[name] ?? "";
    return [name, isOptional && value === "" ? "" : mistakeIn(value, wrong)] as const;
  });
  return new Map(
    [
      ...all,
      [
        "mount",
        mistakeIn(mount, (text) => (MOUNT.test(text) ? "" : "Small letters, digits, dashes and slashes.")),
      ] as const,
      ["address", mistakeIn(address, (text) => (ORIGIN.test(text) ? "" : "As in https://grove.example.com."))] as const,
    ].filter(([, text]) => text !== ""),
  );
}

const mistakeIn = (value: string, wrong: (value: string) => string): string => (value === "" ? "Needed" : wrong(value));

/** True for an address that only clients on the same machine can reach. */
export const isOwnMachine = (address: string): boolean => OWN_MACHINE.test(address);
