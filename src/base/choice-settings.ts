/** A setting with a few texts as its values, and the one that counts where it has none of them. */
interface ChoiceSetting {
  readonly byDefault: string;
  readonly values: readonly string[];
}

const offUnless = { byDefault: "false", values: ["true", "false"] } as const;

/** Every setting of an operator that is a choice. docs/operations.md says what each is for. */
export const CHOICE_SETTINGS = {
  TRACK_LAST_USE: { byDefault: "true", values: ["true", "false"] },
  LOG_LEVEL: { byDefault: "info", values: ["info", "error"] },
  METRICS_UNAUTHENTICATED: offUnless,
  AUDIT_STORE: { byDefault: "on", values: ["on", "off"] },
  ALLOW_SHA1_SIGNATURES: offUnless,
} as const satisfies Record<string, ChoiceSetting>;

/** A message for the operator about each choice with another value. It does not repeat the value. */
export function misreadChoices(settings: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(CHOICE_SETTINGS).flatMap(([name, { byDefault, values }]) => {
    const written = settings[name];
    const isKnown = written === undefined || written === "" || values.some((value) => value === written);
    return isKnown ? [] : [`${name} is none of the texts ${values.join(", ")}: the default counts, ${byDefault}`];
  });
}
