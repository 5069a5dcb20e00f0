import { type FieldGroup, type RecordValue, secondsOf } from "./field.ts";
import type { FormRequest } from "./request-commands.ts";

/** The header that asks for a wrapped answer. Forms that make a secret have it as a field. */
export const WRAP = "X-Vault-Wrap-TTL";

/**
 * The choice between a wrapped and a plain secret.
 *
 * @param choices wrap TTLs, and "" for a plain secret; the default first
 * @param plain label of the choice ""
 */
export const wrappingGroup = (choices: readonly string[], plain: string): FieldGroup => ({
  title: "How it is handed over",
  fields: [
    {
      name: WRAP,
      label: "Hand over",
      kind: "choice",
      choices,
      emptyChoice: plain,
      hint: "With a time it is wrapped: that long the wrapping token is valid. It works once, so an interception is noticed.",
    },
  ],
});

/** The wrapping that the values of a form ask for. */
export const wrappingOf = ({ [WRAP]: wrap = "" }: RecordValue): Pick<FormRequest, "wrapSeconds"> =>
  wrap === "" ? {} : { wrapSeconds: secondsOf(String(wrap)) };
