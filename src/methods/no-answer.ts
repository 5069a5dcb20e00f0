import type { NoAnswer } from "../base/outbound-http.ts";

/** Why a host that a mount names gave no answer, for operators who configure the mount or have a login explained. */
export const NO_ANSWER_CAUSES: Readonly<Record<NoAnswer, string>> = {
  not_allowed: "its host may not be called from here",
  unsendable: "what it is sent has characters that no token and no key has",
  unreadable: "its answer is too long or no text",
  timeout: "it does not answer in time",
  lost: "it refuses the connection, or closes it without an answer",
  unreachable: "there is no connection",
};

/** The same for a login, which anybody can send: it must not tell whether a name resolves or a port is open. */
export function noAnswerText(why: NoAnswer): string {
  return why === "not_allowed" || why === "unreadable" || why === "unsendable"
    ? NO_ANSWER_CAUSES[why]
    : "it does not answer";
}
