import { MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { err, invalid, ok, type Result } from "../base/result.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { exact, exactInteger, exactString, oneOf, shortString } from "../wire/exact-fields.ts";
import { fieldSchema, isObject, readValues, sent } from "../wire/fields.ts";
import { isListing, pathProblem } from "../wire/request.ts";

const OPERATIONS = ["read", "list", "scan", "create", "update", "create_or_update", "patch", "delete"] as const;

const MAX_ADDRESS_LENGTH = 64;

const REQUEST = fieldSchema({
  path: exactString("must be a string", (path) => (path === "" ? "must not be empty" : null)),
  operation: oneOf(OPERATIONS, "must be an operation"),
  data: sent(exact("object", (value) => (isObject(value) ? ok(value) : err("must be an object")))),
  wrapTtlSeconds: sent(exactInteger("must be a whole number", 0, Number.MAX_SAFE_INTEGER)),
  clientAddress: sent(shortString("must be a string", MAX_ADDRESS_LENGTH)),
});

/** A request in the terms of policies, and where it comes from. */
export interface ReadRequest {
  readonly access: AccessRequest;
  readonly clientAddress: string | null;
}

/** Reads what another Worker sends: its types are compiled, so nothing is certain about the values. */
export function readAuthorizeRequest(request: unknown): Result<ReadRequest> {
  if (!isObject(request)) return err(invalid("invalid request: it"));
  const parsed = readValues(REQUEST, request);
  if (!parsed.ok) return err(invalid(`invalid request: ${parsed.error.name}`));
  const { operation, data = {}, wrapTtlSeconds = 0, clientAddress } = parsed.value;
  // The same rules as for a path of the interface: without slashes at its beginning, a list without one at its end.
  const path = parsed.value.path.replace(/^\/+/, "");
  const problem = pathProblem(path);
  if (problem) return err(invalid(problem));
  const access: AccessRequest = {
    operation,
    path: isListing(operation) ? `${path.replace(/\/+$/, "")}/` : path,
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
  return ok({ access, clientAddress: clientAddress ?? null });
}

/** The text of a token; "" for everything that can't be one. */
export function readTokenText(token: unknown): string {
  return typeof token === "string" && token.length <= MAX_TOKEN_LENGTH ? token.trim() : "";
}
