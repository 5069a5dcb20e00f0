import type { AuditEvent } from "./event.ts";

/** Operations that policies decide about. */
const OPERATIONS: ReadonlySet<string> = new Set(["read", "list", "scan", "create", "update", "patch", "delete"]);

/** The request to explain with `sys/explain/access`, or why it can't be explained. */
export type Why =
  | { readonly ask: Readonly<Record<string, string>>; readonly because: "" }
  | { readonly ask: null; readonly because: string };

/** The question about a request, from its event. */
export function whyOf(event: AuditEvent): Why {
  const because = reasonOf(event);
  if (because !== "") return { ask: null, because };
  const { auth, path = "", operation = "", client_address: address } = event;
  const asked = { accessor: auth?.accessor ?? "", path, operation: OPERATIONS.has(operation) ? operation : "read" };
  return { ask: { ...asked, ...(typeof address === "string" && { client_address: address }) }, because };
}

/** Paths below a mount of a login and of the steps of a login with a provider. */
const LOGIN = /^(?:login|oidc\/(?:auth_url|callback|poll))$/;

/** True for a login or a step of one, which no policy decides about. */
export const isLogin = ({ path = "", mount = "", role }: AuditEvent): boolean =>
  role !== undefined || (mount.startsWith("auth/") && path.startsWith(mount) && LOGIN.test(path.slice(mount.length)));

/** The reason of a refused login: the check that failed, or what its auth method said. */
const loginReason = ({ error = "", check }: AuditEvent): string =>
  check
    ? `The check ${check.name} failed: “${check.description}”`
    : error === ""
      ? "Its method says which check failed."
      : `Its method refused it: ${error}`;

/** Why a request can't be explained by policies; "" when it can. */
function reasonOf(event: AuditEvent): string {
  const { kind, status = 0, path = "", auth } = event;
  if (kind === "fault") return "The service failed. Nothing is wrong with the token or its policies.";
  if (status < 400) return "It was not refused.";
  if (status === 429) return "A quota refused it: Health lists the quotas.";
  if (isLogin(event)) return `No policy decides about a login. ${loginReason(event)}`;
  if (!auth)
    return "It had no valid token: its token had ended, was mistyped, or was none. The search (Ctrl K) says of a text which.";
  if (status !== 403 && status !== 404)
    return "The policies did not refuse it: the error says what was wrong with the request.";
  if (/<(?:token|malformed|unknown)>/.test(path))
    return path.includes("<unknown>")
      ? "No endpoint has the path, so the audit log keeps only its known words, not the whole path: the rest may be a secret. Ask the client which path it was: “What may it do?” on the page of the token says what its policies say of one."
      : "The audit log does not have the whole path, so no policy can be asked about it.";
  if (auth.token_type !== "service")
    return `It was a ${auth.token_type} token: on the page of the policies, its text says what it may do.`;
  return "";
}
