import type { RecordValue } from "../records/field.ts";
import type { Preset, PresetPlace, PresetValues } from "./preset.ts";

/** The settings of a mount as a read shows them, without secrets; "hidden" where they may not be read. */
export type MountSettings = RecordValue | "hidden" | null;

/** Texts have the name of a secret in its place. */
export function withoutSecrets({ fields }: Preset, values: PresetValues): PresetValues {
  const secrets = fields.filter(({ isSecret }) => isSecret).map(({ name, label }) => [name, `<${label}>`] as const);
  return { ...values, ...Object.fromEntries(secrets) };
}

/** The settings of the mount that a plan writes: those that are kept, with the secret that was typed. */
export function settingsBody(preset: Preset, values: PresetValues, place: PresetPlace, kept: RecordValue | undefined) {
  const wanted = preset.settingsOfMount?.body(values, place);
  if (wanted === undefined || kept === undefined) return wanted;
  const secrets = secretNames(preset, values, place);
  return {
    ...Object.fromEntries(Object.entries(kept).filter(([name, value]) => !name.endsWith("_set") && !isBlank(value))),
    ...Object.fromEntries(Object.entries(wanted).filter(([name]) => secrets.has(name))),
  };
}

/** A value that is as good as one that is not sent. */
const isBlank = (value: unknown): boolean =>
  value === "" || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** Stands for a secret, to find out where it goes. */
const MARK = "a secret";

/** The names of the settings that hold a secret. */
function secretNames(preset: Preset, values: PresetValues, place: PresetPlace): ReadonlySet<string> {
  const secrets = preset.fields.flatMap(({ name, isSecret }) => (isSecret ? [[name, MARK] as const] : []));
  const marked = preset.settingsOfMount?.body({ ...values, ...Object.fromEntries(secrets) }, place) ?? {};
  return new Set(Object.keys(marked).filter((name) => marked[name] === MARK));
}

/** What was typed for the settings of a mount that has its own. */
export interface UnusedSettings {
  /** The labels of the fields that are not used. */
  readonly labels: readonly string[];
  /** What the mount has, as the end of a sentence that begins with "It"; null where it may not be read. */
  readonly found: string | null;
  /** True: the secret that was typed can be set, as all else is what was typed. */
  readonly canSetSecret: boolean;
  /** True: the mount has no such secret yet. */
  readonly lacksSecret: boolean;
}

/** Says what of the values would not be used at a mount with these settings; null where nothing is lost. */
export function unusedSettings(
  preset: Preset,
  values: PresetValues,
  place: PresetPlace,
  settings: MountSettings,
): UnusedSettings | null {
  const { settingsOfMount, fields } = preset;
  const typed = fields.filter(({ isOfMount }) => isOfMount === true);
  if (settingsOfMount === undefined || settings === null || typed.length === 0) return null;
  const isSame = settings !== "hidden" && hasSettingsOf(settings, preset, values, place);
  const unused = isSame ? typed.filter(({ isSecret }) => isSecret === true) : typed;
  if (unused.length === 0) return null;
  return {
    labels: unused.map(({ label }) => label),
    found: settings === "hidden" ? null : settingsOfMount.found(settings),
    canSetSecret: isSame,
    lacksSecret: isSame && settingsOfMount.lacksSecret?.(settings) === true,
  };
}

/** True where a request that was sent has set what was typed for the settings of a mount. */
export function writesSettings(
  preset: Preset,
  values: PresetValues,
  place: PresetPlace,
  sent: RecordValue | undefined,
): boolean {
  return sent !== undefined && hasAll(sent, preset.settingsOfMount?.body(values, place) ?? {});
}

/** True for settings of a mount that are those that were typed, as far as a read shows them. */
function hasSettingsOf(settings: RecordValue, preset: Preset, values: PresetValues, place: PresetPlace): boolean {
  const secrets = secretNames(preset, values, place);
  const wanted = Object.entries(preset.settingsOfMount?.body(values, place) ?? {});
  return hasAll(settings, Object.fromEntries(wanted.filter(([name]) => !secrets.has(name))));
}

/** True for settings that have all the wanted ones, whatever their role is. */
const hasAll = (settings: RecordValue, wanted: RecordValue): boolean =>
  Object.entries(wanted).every(([name, value]) => name === OF_ROLE || isSameText(settings[name], value));

/** The role of logins that name none: a mount keeps its own. */
const OF_ROLE = "default_role";

/** Addresses are the same with a slash at their end. */
const isSameText = (one: unknown, other: unknown): boolean =>
  String(one ?? "").replace(/\/$/, "") === String(other ?? "").replace(/\/$/, "");

/** The setting of a mount that contradicts a plan, if any. No answer contains secrets: they are not compared. */
export function conflictOf(wanted: RecordValue, settings: MountSettings): string | undefined {
  if (settings === null || settings === "hidden") return undefined;
  const texts = Object.entries(wanted)
    .filter(([name]) => name !== OF_ROLE)
    .map(([name, value]) => [value, settings[name]] as const);
  const [, other] =
    texts.find(([value, set]) => typeof set === "string" && set !== "" && !isSameText(set, value)) ?? [];
  return typeof other === "string" ? other : undefined;
}
