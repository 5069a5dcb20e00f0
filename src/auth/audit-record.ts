import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import type { Result } from "../base/result.ts";
import { formatRfc3339 } from "../base/rfc3339.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import {
  type AuditLine,
  type AuditNotes,
  auditData,
  auditHash,
  auditPath,
  auditTokenHash,
  writeAuditLine,
} from "../wire/audit.ts";
import { QUOTA_EXCEEDED, toWire } from "../wire/failure.ts";
import type { Reply } from "../wire/reply.ts";
import { type Caller, callerAccessor, callerRecord } from "./caller.ts";

/** What is known of a request so far. */
export interface AuditSubject {
  readonly operation: AuditLine["operation"];
  /** Without a token in it. */
  readonly path: string;
  readonly clientAddress: string | null;
  /** The token that was sent, "" for none. */
  readonly token: string;
  /** The fields that were sent. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly notes: AuditNotes;
}

/** How a request ended. */
export interface AuditEnd {
  readonly status: number;
  readonly result: Result<unknown, Failure>;
  readonly caller: Caller | null;
  /** The answer, where it can hand out a token. */
  readonly reply: Reply | null;
}

/**
 * The audit log of one request, over HTTP or RPC: one line before the request changes anything or issues a token, and
 * one when it is answered. Facts are added as they become known, so that the last line can be written wherever the
 * request ends.
 */
export class AuditRecord {
  readonly #via: AuditLine["via"];
  readonly #id: string;
  readonly #arrivedAt = currentTime();
  readonly #subject: { -readonly [name in keyof AuditSubject]: AuditSubject[name] };
  #installation: Installation | null = null;
  #saidData = false;

  constructor(via: AuditLine["via"], id: string, subject: AuditSubject) {
    this.#via = via;
    this.#id = id;
    this.#subject = { ...subject };
  }

  /** Takes what is known by now. */
  learn(subject: Partial<AuditSubject>, installation: Installation | null = null): void {
    Object.assign(this.#subject, subject);
    this.#installation ??= installation;
  }

  /** The role that a login asked for, as far as it is known; else "". */
  get role(): string {
    return this.#subject.notes.role ?? "";
  }

  /** Writes the line before the request acts. Call it where nothing but the act itself can fail any more. */
  async begin(): Promise<void> {
    const known = await this.#known(false);
    const data = await this.#data();
    this.#saidData = true;
    writeAuditLine({ type: "request", time: formatRfc3339(currentTime()), ...known, ...data });
  }

  /** Writes the last line. */
  async end({ status, result, caller, reply }: AuditEnd): Promise<void> {
    const now = currentTime();
    const error = firstError(result);
    const { targetAccessor: target, targetAccessors, issuedTeamToken, role, principal } = this.#subject.notes;
    writeAuditLine({
      type: "response",
      time: formatRfc3339(now),
      ...(await this.#known(caller !== null)),
      // What nobody sent may be of any size, and proves nothing.
      ...(caller !== null && !this.#saidData && (await this.#data())),
      status,
      duration_ms: now - this.#arrivedAt,
      ...(error !== undefined && { error }),
      ...(caller && auditCaller(caller)),
      ...(target !== undefined && (!caller || callerAccessor(caller) !== target) && { target_accessor: target }),
      ...(targetAccessors && { target_accessors: targetAccessors }),
      ...(await this.#issued(reply, target)),
      ...(issuedTeamToken !== undefined && { issued_accessor: issuedTeamToken, issued_type: "team" as const }),
      ...(role !== undefined && { role }),
      ...(principal !== undefined && { principal }),
    });
  }

  async #known(accepted: boolean) {
    const { operation, path, clientAddress, token } = this.#subject;
    const installation = this.#installation;
    const mount = installation && mountOfPath(installation, path);
    return {
      via: this.#via,
      request_id: this.#id,
      operation,
      path: auditPath(path),
      ...(mount && { mount }),
      client_address: clientAddress,
      ...(installation && token !== "" && { token_hash: await auditTokenHash(installation, token, accepted) }),
    };
  }

  async #data(): Promise<Pick<AuditLine, "data">> {
    const { data, path } = this.#subject;
    const installation = this.#installation;
    if (!installation || Object.keys(data).length === 0) return {};
    const plain = methodAt(installation, path)?.config.auditNonHmacRequestKeys ?? [];
    return { data: await auditData(installation, data, plain) };
  }

  async #issued(reply: Reply | null, target: string | undefined): Promise<Partial<AuditLine>> {
    if (reply?.kind === "wrapped") {
      const { accessor, wrappedAccessor } = reply.wrapInfo;
      const inside = wrappedAccessor !== "" && { wrapped_accessor: wrappedAccessor };
      return { issued_accessor: accessor, issued_type: "wrapping", ...inside };
    }
    // The answer to a renewal describes the token that the request was about.
    if (reply?.kind !== "auth" || reply.auth.accessor === target) return {};
    const { accessor, tokenType, tokenPolicies, entityId, clientToken } = reply.auth;
    return {
      issued_accessor: accessor,
      issued_type: tokenType,
      issued_policies: tokenPolicies,
      issued_entity_id: entityId,
      ...(accessor === "" &&
        this.#installation && { issued_token_hash: await auditHash(this.#installation.keys, clientToken) }),
    };
  }
}

/** The mount of a path: that of an auth method, or the first segment. */
function mountOfPath(installation: Installation, path: string): string | null {
  const method = methodAt(installation, path);
  if (method) return `auth/${method.path}`;
  const [first = ""] = path.split("/", 1);
  return FIXED_MOUNTS.has(first) ? `${first}/` : null;
}

function methodAt(installation: Installation, path: string): Mount | undefined {
  return path.startsWith("auth/") ? installation.mountServing(path.slice("auth/".length)) : undefined;
}

const FIXED_MOUNTS: ReadonlySet<string> = new Set(["sys", "identity", "cubbyhole"]);

/** The error message for the log. No message repeats what the client sent, except those of two failures, which have the path. */
function firstError(result: Result<unknown, Failure>): string | undefined {
  if (result.ok) return undefined;
  if (result.error.code === "no_route") return "no handler for route";
  return result.error.code === "rate_limited" ? QUOTA_EXCEEDED : toWire(result.error).errors[0];
}

/** What the audit line says about a caller. */
function auditCaller(caller: Caller): Pick<AuditLine, "accessor" | "display_name" | "entity_id" | "policies"> {
  const { displayName, entityId, policies } = callerRecord(caller);
  return { accessor: callerAccessor(caller), display_name: displayName, entity_id: entityId, policies };
}
