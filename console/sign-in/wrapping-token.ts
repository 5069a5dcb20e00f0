import { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";

/** The form of generated service tokens. All wrapping tokens have it. */
const GENERATED = /^(?:hv)?s\.\S+$/;

/**
 * Whether a text is a wrapping token that was not unwrapped yet. It is sent in a body, in a request without a token: a
 * look-up with the wrapping token itself would spend its only use.
 */
export async function isWrappingToken(text: string): Promise<Answer<boolean>> {
  if (!GENERATED.test(text)) return done(false);
  const answer = await new Api("").call("sys/wrapping/lookup", { body: { token: text } });
  if (answer.ok) return done(true);
  // Any other failure does not answer the question.
  return answer.problem.status === 400 ? done(false) : answer;
}
