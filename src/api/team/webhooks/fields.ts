import { hasUnprintable } from "../../../base/name.ts";
import { err, ok } from "../../../base/result.ts";
import { TRIGGERS } from "../../../team/notices/rules.ts";
import { exact, exactFlag, exactString, oneOf, orNull } from "../../../wire/exact-fields.ts";
import { fieldSchema, sent } from "../../../wire/fields.ts";

const MAX_TEXT = 255;
const TEXT = `must be a string of 1 to ${MAX_TEXT} characters`;

const NAME = exactString(
  TEXT,
  (name) => textProblem(name) ?? (hasUnprintable(name) ? "must not hold control characters" : null),
).describe("The name");
const URL = exactString("must be a string").describe("Where notices are sent to");

const TRIGGER_LIST = exact(["string"], (value) => {
  const triggers = TRIGGERS.filter((trigger) => Array.isArray(value) && value.includes(trigger));
  const isList = Array.isArray(value) && value.length <= TRIGGERS.length && triggers.length === new Set(value).size;
  return isList ? ok(triggers) : err(`must be a list of ${TRIGGERS.join(", ")}`);
});

const CHANGES = {
  token: sent(orNull(exactString(TEXT, textProblem))).describe("What notices are signed with; never shown"),
  enabled: sent(exactFlag()).describe("True: it has to take a verification first"),
  triggers: sent(TRIGGER_LIST).describe(`What it is notified of: ${TRIGGERS.join(", ")}`),
  "destination-type": sent(oneOf(["generic"], "must be generic")).describe("`generic`"),
};

/** The attributes of a change: what is absent stays. */
export const WEBHOOK_CHANGE = fieldSchema({ name: sent(NAME), url: sent(URL), ...CHANGES });
/** The attributes of a new webhook. */
export const NEW_WEBHOOK = fieldSchema({ name: NAME, url: URL, ...CHANGES });

function textProblem(text: string): string | null {
  return text.length >= 1 && text.length <= MAX_TEXT ? null : TEXT;
}
