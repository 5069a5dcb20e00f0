import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { EXPLANATION } from "../answers.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session } from "../terminal.ts";
import { showExplanation } from "./explain.ts";

/** The line of an audit log that ends a request. Unknown fields are left out. */
const LINE = z.object({
  type: z.enum(["response", "gateway"]),
  time: z.string(),
  request_id: z.string(),
  operation: z.string(),
  path: z.string(),
  status: z.number(),
  error: z.string().nullish(),
  client_address: z.string().nullish(),
  role: z.string().nullish(),
  auth: z.object({ accessor: z.string(), display_name: z.string(), token_type: z.string() }).nullish(),
});
type Line = z.infer<typeof LINE>;

/**
 * Explains a request by its line in the audit log, which is read from standard input: who asked for what, and what the
 * policies of that token say of it now. The server keeps no log itself. `request` null: the last refused one.
 */
export async function explainRequest(
  session: Session,
  { request }: Extract<GroveCommand, { kind: "why" }>,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  if (terminal.interactive)
    return failed("why reads the audit log on standard input: grove why REQUEST_ID < audit.log");
  const line = await findLine(terminal.lines(), request);
  if (!line)
    return failed(
      request === null ? "no line is of a refused request" : `no line has the request ${harmless(request)}`,
    );
  if (!json) for (const text of factsOf(line)) terminal.say(harmless(text));
  const reason = unaskable(line);
  if (reason !== null) {
    if (json) terminal.out(JSON.stringify({ request: line, explanation: null, message: reason }));
    else terminal.say(reason);
    return ok(line.status < 400 ? 0 : 1);
  }
  const { operation, path, client_address: address } = line;
  const asked = {
    accessor: line.auth?.accessor,
    path,
    operation: OPERATIONS.has(operation) ? operation : "read",
    ...(typeof address === "string" && { client_address: address }),
  };
  const answer = await client.post("sys/explain/access", EXPLANATION, asked);
  if (!answer.ok) return answer;
  if (json) terminal.out(JSON.stringify({ request: line, explanation: answer.value }));
  else showExplanation(terminal, answer.value);
  return ok(answer.value.allowed ? 0 : 1);
}

const OPERATIONS: ReadonlySet<string> = new Set(["read", "list", "scan", "create", "update", "patch", "delete"]);

/** Returns the line of a request, or of the last refused one. Lines that are none of an audit log are passed over. */
async function findLine(lines: AsyncIterable<string>, request: string | null): Promise<Line | null> {
  let found: Line | null = null;
  for await (const text of lines) {
    if (request !== null && !text.includes(request)) continue;
    const line = readLine(text);
    if (!line) continue;
    if (request === null ? line.status >= 400 : line.request_id === request) found = line;
    if (found && request !== null) break;
  }
  return found;
}

function readLine(text: string): Line | null {
  const start = text.indexOf("{");
  if (start === -1) return null;
  try {
    const read = LINE.safeParse(JSON.parse(text.slice(start)));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

function factsOf({ time, operation, path, status, error, auth, client_address: address, role }: Line): string[] {
  const who = auth ? `${auth.display_name || "a token"} ${auth.accessor}`.trimEnd() : "no token that was good";
  return [
    `${time}: ${operation} ${path}, status ${status}${error ? `: ${error}` : ""}`,
    `by ${who}${address ? `, from ${address}` : ""}${role ? `, for the role ${role}` : ""}`,
  ];
}

/** Why the server can't be asked about this request; null when it can. */
function unaskable({ type, path, auth, role, status }: Line): string | null {
  if (type === "gateway") return "The gateway answered it itself: Grove was not asked.";
  if (/<(?:token|malformed|unknown)>/.test(path))
    return "The log does not have the whole path, so no policy can be asked about it.";
  if (role) return "It is a login: explain/refused and explain/login of its mount say which check failed.";
  if (!auth) return "Its token was not valid, had ended, or was none: grove find says of its text which.";
  if (auth.token_type === "batch")
    return "It is of a batch token, which has no accessor: sys/explain/access takes its text.";
  if (auth.token_type !== "service") return `It is of a ${auth.token_type} token: sys/explain/access takes its text.`;
  return status === 429 ? "A quota refused it." : null;
}
