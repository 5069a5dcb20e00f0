import { WorkerEntrypoint } from "cloudflare:workers";
import type {
  Allowed,
  Authorization,
  AuthorizeRequest,
  Lookup,
  TokenAuthorityBinding,
  TokenHolder,
} from "../../client/types.ts";
import { authorizeCall } from "../auth/authorize-call.ts";
import { auditCaller, type Caller, callerOf, kindName } from "../auth/caller.ts";
import { readToken } from "../auth/read-token.ts";
import { MAX_ADDRESS_LENGTH, MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { err, ok, type Result, refuse, UNAUTHENTICATED } from "../base/result.ts";
import type { Env } from "../env.ts";
import { loadActiveEntity, policiesOfEntity } from "../identity/entity-copies.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { isListing } from "../policy/operation.ts";
import type { Call } from "../token/decide.ts";
import { fieldSchema, readValues } from "../wire/field-schema.ts";
import { isObject, sent } from "../wire/fields.ts";
import { exact, exactInteger, exactString, oneOf, shortString } from "../wire/json-type-fields.ts";
import { pathProblem } from "../wire/request.ts";
import { audited, refusalOf } from "./audited.ts";

const READS = { operation: "read", clientAddress: null, data: {}, acts: false } as const;

/**
 * The entrypoint `TokenAuthority` for service bindings: other Workers check tokens of Grove. A Worker with the binding is
 * trusted. Every answer is a value; no exception is thrown for an invalid token.
 */
export class TokenAuthority extends WorkerEntrypoint<Env> implements TokenAuthorityBinding {
  /**
   * Returns the holder of a token. Counts no use and does not check the address. Do not use it to grant access: `authorize`
   * counts the use and evaluates the policies.
   */
  async lookup(token: string): Promise<Lookup> {
    const text = readTokenText(token);
    const asked = { ...READS, path: "auth/token/lookup", token: text };
    const result = await audited<TokenHolder>(this.env, this.ctx, asked, async (installation, notes) => {
      const presented = await readToken(this.env, installation, text);
      const caller = presented && (await callerOf(this.env, installation, presented));
      if (!caller) return err(UNAUTHENTICATED);
      notes.auth = auditCaller(caller);
      const standing = await loadActiveEntity(this.env, caller.record.entityId);
      if (!standing.ok) return standing;
      return ok(tokenHolder(caller, standing.value?.policies ?? []));
    });
    return result.ok ? { found: true, holder: result.value } : { found: false, ...refusalOf(result.error) };
  }

  /** Decides about a request by a token and its policies. Counts one use of the token, even if the policies refuse. */
  async authorize(token: string, request: AuthorizeRequest): Promise<Authorization> {
    const text = readTokenText(token);
    const read = readAuthorizeRequest(request);
    if (!read.ok) {
      const unread = { ...READS, operation: "unknown", path: "", token: text } as const;
      await audited(this.env, this.ctx, unread, async () => read);
      return { allowed: false, ...refusalOf(read.error) };
    }
    const { access, clientAddress } = read.value;
    const { operation, path, data = {} } = access;
    const asked = { operation, path, clientAddress, token: text, data, acts: false };
    const result = await audited<Allowed>(this.env, this.ctx, asked, async (installation, notes) => {
      const presented = await readToken(this.env, installation, text);
      if (!presented) return err(UNAUTHENTICATED);
      const atMount = { ...access, mount: installation.mountPathServing(path) };
      const call = {
        presented,
        access: atMount,
        clientAddress,
        malformed: false,
        line: null,
        isElsewhere: true,
      } as const;
      const authorized = await authorizeCall(this.env, installation, call, async () => null);
      const { caller } = authorized.ok ? authorized.value : authorized.error;
      if (caller) notes.auth = auditCaller(caller);
      if (!authorized.ok) return err(authorized.error.failure);
      const { sudo, create, update, limit } = authorized.value.verdict;
      const identityPolicies = await policiesOfEntity(this.env, authorized.value.caller.record.entityId);
      const holder = tokenHolder(authorized.value.caller, identityPolicies);
      return ok({ allowed: true, holder, sudo, create, update, limit });
    });
    return result.ok ? result.value : { allowed: false, ...refusalOf(result.error) };
  }
}

function tokenHolder(caller: Caller, identityPolicies: readonly string[]): TokenHolder {
  const { displayName, policies, entityId, meta, path, createdAt } = caller.record;
  return {
    type: kindName(caller),
    accessor: caller.accessor,
    displayName,
    policies,
    identityPolicies,
    entityId,
    meta,
    path,
    createdAt,
    expiresAt: caller.token.expiresAt,
    usesLeft: caller.kind === "service" ? caller.token.usesLeft : 0,
  };
}

const OPERATIONS = ["read", "list", "scan", "create", "update", "create_or_update", "patch", "delete"] as const;

const REQUEST = fieldSchema({
  path: exactString("must be a string", (path) => (path === "" ? "must not be empty" : null)),
  operation: oneOf(OPERATIONS, "must be an operation"),
  data: sent(exact("object", (value) => (isObject(value) ? ok(value) : err("must be an object")))),
  wrapTtlSeconds: sent(exactInteger("must be a whole number", 0, Number.MAX_SAFE_INTEGER)),
  clientAddress: sent(shortString("must be a string", MAX_ADDRESS_LENGTH)),
});

/** Reads the request of another Worker. Its types exist only at compile time, so the values are checked. */
function readAuthorizeRequest(request: unknown): Result<Call> {
  if (!isObject(request)) return refuse("invalid request: it");
  const parsed = readValues(REQUEST, request);
  if (!parsed.ok) return refuse(`invalid request: ${parsed.error.name}`);
  const { operation, data = {}, wrapTtlSeconds = 0, clientAddress } = parsed.value;
  // The rules for paths of the HTTP interface: no slash at the beginning, and none at the end of a list.
  const path = parsed.value.path.replace(/^\/+/, "");
  const problem = pathProblem(path);
  if (problem) return refuse(problem);
  const access: AccessRequest = {
    operation,
    path: isListing(operation) ? `${path.replace(/\/+$/, "")}/` : path,
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
  return ok({ access, clientAddress: clientAddress ?? null });
}

/** "" for an invalid value. */
function readTokenText(token: unknown): string {
  return typeof token === "string" && token.length <= MAX_TOKEN_LENGTH ? token.trim() : "";
}
