/** A numeric setting: its default, and its inclusive bounds. */
interface NumberSetting {
  readonly byDefault: number;
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
}

const whole = (byDefault: number, min: number, max: number): NumberSetting => ({ byDefault, min, max, isWhole: true });
const decimal = (byDefault: number, min: number, max: number): NumberSetting => ({
  byDefault,
  min,
  max,
  isWhole: false,
});

const UNBOUNDED = Number.MAX_SAFE_INTEGER;
/** Lower bound of settings that must be above 0; small enough for tests. */
const MORE_THAN_NOTHING = 0.001;

/** Every setting of the Worker that is a number. docs/operations.md says what each is for. */
export const NUMBER_SETTINGS = {
  POLICY_CACHE_SECONDS: decimal(5, 0, UNBOUNDED),
  POLICY_GRACE_SECONDS: decimal(60, 0, UNBOUNDED),
  TOMBSTONE_DAYS: decimal(30, 0, 3650),
  MAX_BODY_BYTES: whole(1_048_576, 1, UNBOUNDED),
  // A signature contains its time in whole seconds: programs that share credentials and log in within the same second,
  // such as a hundred copies of a function, send the same signature.
  TOKENS_PER_SIGNATURE: whole(100, 1, UNBOUNDED),
  BACKUP_INTERVAL_HOURS: whole(24, 1, 744),
  BACKUP_KEEP: whole(14, 1, 400),
  AUDIT_DAYS: decimal(30, MORE_THAN_NOTHING, 3650),
  AUDIT_MAX_MB: decimal(5000, MORE_THAN_NOTHING, 10_000_000),
} as const satisfies Record<string, NumberSetting>;

export type NumberSettingName = keyof typeof NUMBER_SETTINGS;

/** wrangler.toml passes a number in `[vars]` as a number, not as text. */
type Written = string | number | undefined;

/** Null for a value that is not such a number. An empty text counts as not set, as for secrets. */
function understood({ byDefault, min, max, isWhole }: NumberSetting, written: Written): number | null {
  const text = String(written ?? "").trim();
  if (text === "") return byDefault;
  const value = Number(text);
  return value >= min && value <= max && (!isWhole || Number.isSafeInteger(value)) ? value : null;
}

/** The value of a setting. An invalid value means the default, not "no limit". */
export function numberSetting(name: NumberSettingName, written: Written): number {
  return understood(NUMBER_SETTINGS[name], written) ?? NUMBER_SETTINGS[name].byDefault;
}

/** A message for the operator about each number with an invalid value. It does not repeat the value. */
export function misreadNumbers(settings: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(NUMBER_SETTINGS).flatMap(([name, setting]) => {
    const written = settings[name];
    const isText = typeof written === "string" || typeof written === "number" || written === undefined;
    if (isText && understood(setting, written) !== null) return [];
    const { byDefault, min, max, isWhole } = setting;
    const least = min === MORE_THAN_NOTHING ? "above 0" : `from ${min} on`;
    const most = max === UNBOUNDED ? "" : `, at most ${max}`;
    return [`${name} is no ${isWhole ? "whole " : ""}number ${least}${most}: the default counts, ${byDefault}`];
  });
}
