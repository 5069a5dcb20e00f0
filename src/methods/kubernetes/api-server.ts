import type { PrivateHosts } from "../../base/outbound-hosts.ts";
import { type NoAnswer, send } from "../../base/outbound-http.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { isObject } from "../../wire/fields.ts";
import { jsonObjectOf } from "../../wire/json.ts";
import { NO_ANSWER_CAUSES, noAnswerText } from "../no-answer.ts";
import type { ServiceAccount } from "./service-account.ts";
import { reviewedAccount } from "./token-review.ts";

/** An API server, and the token that asks it. */
export interface ApiServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly bearer: string;
  /** Whose token `bearer` is: the mount's, or that of the client that logs in. */
  readonly asker: "reviewer" | "client";
  readonly listed: PrivateHosts;
  /** True for an explanation: a refusal has the exact cause of a missing answer, which a login must not show. */
  readonly tellsCause: boolean;
}

/**
 * Why the API server gave nothing to judge by. "unauthenticated" and "forbidden" are about the token that asks. No part
 * of an answer is in `why`: an error of the API server can repeat what it was sent.
 */
export interface ApiRefusal {
  readonly kind: "unavailable" | "unauthenticated" | "forbidden" | "absent";
  readonly why: string;
}

/** Many times the size of any answer: an object of the cluster has at most 256 KiB of annotations. */
const MAX_BYTES = 524_288;
const TIMEOUT_MS = 5_000;

/**
 * Has the API server review a token. Returns the service account of the token; null if the token is not valid, or
 * belongs to no service account. `audience`: the required audience; "" for the default audience of the API server.
 */
export async function reviewToken(
  server: ApiServer,
  token: string,
  audience: string,
): Promise<Result<ServiceAccount | null, ApiRefusal>> {
  const spec = { token, ...(audience !== "" && { audiences: [audience] }) };
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec };
  const answer = await ask(server, {
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: JSON.stringify(review),
    right: "system:auth-delegator",
  });
  if (!answer.ok) return answer;
  const { kind, status } = answer.value;
  if (kind !== "TokenReview" || !isObject(status)) return err(UNREADABLE);
  return ok(reviewedAccount(status, audience));
}

/** The annotations of a service account; null when it is gone, being deleted, or another one of the same name. */
export async function readServiceAccount(
  server: ApiServer,
  account: ServiceAccount,
): Promise<Result<Readonly<Record<string, unknown>> | null, ApiRefusal>> {
  const { namespace, name, uid } = account;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
  const answer = await ask(server, { path, body: null, right: "get on serviceaccounts" });
  if (!answer.ok) return answer.error.kind === "absent" ? ok(null) : answer;
  const { kind, metadata } = answer.value;
  if (kind !== "ServiceAccount" || !isObject(metadata)) return err(UNREADABLE);
  const isSame = metadata.uid === uid && metadata.name === name && metadata.namespace === namespace;
  if (!isSame || (metadata.deletionTimestamp ?? null) !== null) return ok(null);
  return ok(isObject(metadata.annotations) ? metadata.annotations : {});
}

/** The labels of a namespace. */
export async function readNamespaceLabels(
  server: ApiServer,
  namespace: string,
): Promise<Result<Readonly<Record<string, unknown>>, ApiRefusal>> {
  const path = `/api/v1/namespaces/${namespace}`;
  const answer = await ask(server, { path, body: null, right: "get on namespaces" });
  if (!answer.ok) return answer;
  const { kind, metadata } = answer.value;
  if (kind !== "Namespace" || !isObject(metadata) || metadata.name !== namespace) return err(UNREADABLE);
  return ok(isObject(metadata.labels) ? metadata.labels : {});
}

const UNREADABLE: ApiRefusal = { kind: "unavailable", why: "its answer can't be read" };

/** API servers often have a certificate of an authority of their own. */
function causeOf(why: NoAnswer): string {
  const cause = NO_ANSWER_CAUSES[why];
  return why === "unreachable" ? `${cause}, or no public authority vouches for its certificate` : cause;
}

interface Question {
  readonly path: string;
  /** Null for a GET. */
  readonly body: string | null;
  /** The right that it takes in the cluster, for the administrator who grants it. */
  readonly right: string;
}

const ASKERS: Readonly<Record<ApiServer["asker"], string>> = {
  reviewer: "token_reviewer_jwt",
  client: "the token of the login",
};

async function ask(
  { url, bearer, asker, listed, tellsCause }: ApiServer,
  { path, body, right }: Question,
): Promise<Result<Readonly<Record<string, unknown>>, ApiRefusal>> {
  const headers = {
    Accept: "application/json",
    Authorization: `Bearer ${bearer}`,
    ...(body !== null && { "Content-Type": "application/json" }),
  };
  const request = { method: body === null ? "GET" : "POST", url: `${url}${path}`, headers, body } as const;
  const sent = await send(request, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, hosts: listed });
  if (!sent.ok) {
    return err({ kind: "unavailable", why: tellsCause ? causeOf(sent.error) : noAnswerText(sent.error) });
  }
  const { status, body: text } = sent.value;
  const sentBy = ASKERS[asker];
  if (status === 401) return err({ kind: "unauthenticated", why: `it does not accept ${sentBy}` });
  if (status === 403) return err({ kind: "forbidden", why: `it does not let ${sentBy} do this, which takes ${right}` });
  if (status === 404) return err({ kind: "absent", why: "it has no such thing" });
  if (status !== 200 && status !== 201) return err({ kind: "unavailable", why: `it answered ${status}` });
  const value = jsonObjectOf(text);
  return value ? ok(value) : err(UNREADABLE);
}
