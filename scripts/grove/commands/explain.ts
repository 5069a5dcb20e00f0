import type * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { EXPLANATION } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { nothingIs } from "../id-formats.ts";
import { sayProse } from "../prose.ts";
import { harmless, type Session, styled, type Terminal } from "../terminal.ts";

/** Shows why a request would be allowed or refused. Returns 1 for a refusal. */
export async function explainAccess(
  { client, terminal, json }: Session,
  { accessor, path, operation, parameters }: Extract<GroveCommand, { kind: "explain" }>,
): Promise<Called<number>> {
  const asked = { path, operation, parameters, ...(accessor !== null && { accessor }) };
  const endpoint = accessor === null ? "sys/explain/access-self" : "sys/explain/access";
  const answer = await client.post(endpoint, EXPLANATION, asked);
  if (!answer.ok) return answer;
  if (accessor !== null && answer.value.reason === "token_unknown") return failed(nothingIs("accessor", accessor));
  if (json) terminal.out(JSON.stringify(answer.value));
  else showExplanation(terminal, answer.value);
  return ok(answer.value.allowed ? 0 : 1);
}

/** Shows an explanation. The policy to add is on standard output. */
export function showExplanation(terminal: Terminal, explanation: z.infer<typeof EXPLANATION>): void {
  const { allowed, reason, message, operation, path, rule, policies, missing_policies: missing, hcl } = explanation;
  const verdict = styled(terminal, allowed ? "green" : "red", allowed ? "allowed" : "refused");
  terminal.say(`${verdict}: ${harmless(operation)} ${harmless(path)}`);
  sayProse(terminal, harmless(message));
  for (const { name, path: written, lines } of rule?.policies ?? []) {
    terminal.say(
      `  policy ${harmless(name)}, path "${harmless(written)}"${lines.length > 0 ? `, line ${lines.join(", ")}` : ""}`,
    );
  }
  sayProse(terminal, `policies of the token: ${harmless(policies.join(", ")) || "none"}`);
  if (missing.length > 0) terminal.say(`there is no policy ${harmless(missing.join(", "))}`);
  if (hcl !== null) {
    terminal.say("This policy, given to the token besides the others, would allow it:");
    for (const line of hcl.trimEnd().split("\n")) terminal.out(harmless(line));
  } else if (reason === "deny") {
    sayProse(
      terminal,
      "A deny wins over other rules of its path: change that rule, or take its policy from the token.",
    );
  }
}
