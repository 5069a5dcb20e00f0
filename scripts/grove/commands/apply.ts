import { accessSync, constants } from "node:fs";
import { err, ok, type Result } from "../../../src/base/result.ts";
import type { DeclaredRequest } from "../../declare/declaration.ts";
import { mistakesIn } from "../../declare/known-fields.ts";
import { hiddenBecause, linesOfRefusal, linesOfStep, placeOf, withoutSecrets } from "../../declare/plan-lines.ts";
import { applyRequests, type Outcome, type Step, stepFor } from "../../declare/plan-step.ts";
import { policyWarnings } from "../../declare/policy-warnings.ts";
import { readDeclarationFile } from "../../declare/sources.ts";
import { startFromFile } from "../../declare/start-from-file.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { number } from "./token-lines.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The exit code of --check when there are differences. */
const DIFFERENT = 2;

/**
 * Shows how a service differs from what a file declares, asks, and applies it. What the file does not name is left alone.
 */
export async function applyFile(
  session: Session,
  { file, yes, check }: { readonly file: string; readonly yes: boolean; readonly check: boolean },
  environment: Environment,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const read = readDeclarationFile(file, environment);
  const { requests } = read.ok ? read.value : read.error;
  // Without a server the mistakes of the file itself are still shown.
  const found = await mistakesIn(client, requests);
  const mistakes = [...(read.ok ? [] : read.error.lines), ...(found.ok ? found.value : [])];
  if (mistakes.length > 0) return failed([...mistakes, "nothing was written"].join("\n"));
  if (!found.ok) return found;
  const planned = await plan(session, requests);
  if (!planned.ok) return planned;
  const steps = planned.value;
  const changes = steps.filter(({ action }) => action !== "none");
  const conflicts = steps.filter(({ action }) => action === "conflict");
  if (!json) showPlan(session, steps);
  const isOver = check || changes.length === 0 || conflicts.length > 0;
  if (isOver || !(yes || (!json && (await isConfirmed(session))))) {
    if (json) terminal.out(JSON.stringify({ ...summary(steps), applied: null, refused: null }, withoutSecrets));
    if (conflicts.length > 0)
      return failed("what stands behind ! can't be changed into what the file declares; nothing was written");
    if (check && changes.length > 0) return ok(DIFFERENT);
    if (changes.length === 0) return warned(session, requests);
    return failed(
      terminal.interactive ? "nothing was written" : "nothing was written: --yes applies without a question",
    );
  }
  const outcome = await applyRequests(client, requests, ({ request }, warnings) => {
    for (const warning of warnings)
      terminal.say(styled(terminal, "yellow", harmless(`${placeOf(request)}: ${warning}`)));
  });
  const shown = showOutcome(session, steps, outcome, requests);
  return shown.ok ? warned(session, requests) : shown;
}

/** Warns people of paths of policies that no endpoint has. */
async function warned(
  { client, terminal, json }: Session,
  requests: readonly DeclaredRequest[],
): Promise<Called<number>> {
  if (json) return ok(0);
  for (const warning of await policyWarnings(client, requests))
    terminal.say(styled(terminal, "yellow", harmless(warning)));
  return ok(0);
}

async function plan({ client, terminal }: Session, requests: readonly DeclaredRequest[]): Promise<Called<Step[]>> {
  const steps: Step[] = [];
  const refusals: { readonly text: string; readonly status: number | null }[] = [];
  for (const request of requests) {
    terminal.progress(`${steps.length} of ${requests.length} compared`);
    const step = await stepFor(client, request);
    if (step.ok) {
      steps.push(step.value);
      continue;
    }
    const { status, message } = step.error;
    // Without a token each one is refused.
    if (status === 403 && client.isAnonymous) return step;
    refusals.push({ text: `${placeOf(request)}: ${message}`, status });
    // If the server does not answer, or answers with a fault of its own, the others would fail as well.
    if (status === null || status >= 500) break;
  }
  terminal.progress(null);
  if (refusals.length === 0) return ok(steps);
  const message = refusals.map(({ text }) => text).join("\n");
  // With the status 403 the caller adds what the token lacks. It is the reason only if each request had this status.
  return refusals.every(({ status }) => status === 403) ? err({ status: 403, message }) : failed(message);
}

function countOf(steps: readonly Step[], action: Step["action"]): number {
  return steps.filter((step) => step.action === action).length;
}

function showPlan({ terminal }: Session, steps: readonly Step[]): void {
  for (const line of steps.flatMap((step) => linesOfStep(terminal, step))) terminal.out(line);
  for (const { request, unread } of steps) {
    if (unread.length > 0)
      terminal.out(`${placeOf(request)}: not compared, as no answer shows it: ${unread.join(", ")}`);
  }
  const [add, change, same] = (["add", "change", "none"] as const).map((action) => countOf(steps, action));
  terminal.out(`${add} to add, ${change} to change, ${same} as declared; what the file does not name is left alone`);
}

async function isConfirmed({ terminal }: Session): Promise<boolean> {
  return terminal.interactive && (await terminal.ask("Type yes to apply: ")).trim() === "yes";
}

function showOutcome(
  { terminal, json }: Session,
  steps: readonly Step[],
  outcome: Outcome,
  all: readonly DeclaredRequest[],
) {
  const { applied, refused } = outcome;
  if (json) {
    const why = refused && { name: refused.request.name, line: refused.request.line, ...refused.failure };
    terminal.out(
      JSON.stringify(
        { ...summary(steps), applied: applied.map(({ request }) => request.name), refused: why },
        withoutSecrets,
      ),
    );
  }
  if (refused) return failed([...linesOfRefusal(outcome, all), "run it again once that is put right"].join("\n"));
  if (!json) terminal.out(styled(terminal, "green", `${number(applied.length, "request")} applied`));
  return ok(0);
}

/** A plan as JSON, without the values of hidden fields. */
function summary(steps: readonly Step[]) {
  return {
    add: countOf(steps, "add"),
    change: countOf(steps, "change"),
    conflict: countOf(steps, "conflict"),
    unchanged: countOf(steps, "none"),
    steps: steps.map(({ request, action, differences, unread }) => ({
      ...{ name: request.name, line: request.line, path: request.path, action, not_compared: unread },
      differences: differences.map(({ field, declared, current }) => ({
        field,
        ...(hiddenBecause(request, field) === null ? { declared, current: current ?? null } : { hidden: true }),
      })),
    })),
  };
}

/** Initializes a new server with what a file declares. The token of the session is the init token. */
export async function initFromFile(
  { client, terminal, json }: Session,
  file: string,
  initToken: string,
  environment: Environment,
): Promise<Called<number>> {
  // The file of an initialized server is not read, but a mistyped name must be an error all the same.
  accessSync(file, constants.R_OK);
  const warn = (line: string): void => terminal.say(styled(terminal, "yellow", harmless(line)));
  const started: Result<string, string> = await startFromFile(file, environment, {
    as: (token) => client.as(token),
    initToken,
    warn,
  });
  if (!started.ok) return failed(started.error);
  terminal.out(json ? JSON.stringify({ done: started.value }) : started.value);
  return ok(0);
}
