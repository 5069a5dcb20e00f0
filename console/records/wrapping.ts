import { type FieldGroup, type RecordValue, secondsOf } from "./field.ts";
import type { FormRequest } from "./request-commands.ts";

/** The header that asks for a wrapped answer, which is a field of forms that make a secret. */
export const WRAP = "X-Vault-Wrap-TTL";

/**
 * The choice between a wrapped secret and one that is shown.
 *
 * @param choices times of wrapping, and "" for none; the default first
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
      hint: "A time: how long the wrapping token is valid. It works once, so an interception is noticed.",
    },
  ],
});

/** The wrapping that the values of a form ask for. */
export const wrappingOf = ({ [WRAP]: wrap = "" }: RecordValue): Pick<FormRequest, "wrapSeconds"> =>
  wrap === "" ? {} : { wrapSeconds: secondsOf(String(wrap)) };
