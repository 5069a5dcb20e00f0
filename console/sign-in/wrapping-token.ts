import { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";

/** Tokens that the service generates. Those of no other form are wrapping tokens. */
const GENERATED = /^(?:hv)?s\.\S+$/;

/**
 * Whether a text is a wrapping token that nobody has unwrapped. It is asked about in a body, without a token: a look-up of
 * itself would be the only use that it has.
 */
export async function isWrappingToken(text: string): Promise<Answer<boolean>> {
  if (!GENERATED.test(text)) return done(false);
  const answer = await new Api("").call("sys/wrapping/lookup", { body: { token: text } });
  if (answer.ok) return done(true);
  // Any other answer leaves it open.
  return answer.problem.status === 400 ? done(false) : answer;
}
