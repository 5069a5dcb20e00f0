import { keepAnswer } from "../audit/writer/isolate-writer.ts";
import { currentTime, formatRfc3339 } from "../base/clock.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { type AuditAuth, type AuditLine, writeAuditLine } from "../wire/audit.ts";
import { auditData, CALLER_ENTRIES, OPEN_ENTRIES } from "../wire/audit-data.ts";
import { auditHash, auditMessage, auditPath, auditTokenHash } from "../wire/audit-masking.ts";
import { QUOTA_EXCEEDED, toWire, UNKNOWN_FIELDS } from "../wire/failure.ts";
import type { AuthReply, Reply } from "../wire/reply.ts";
import type { GroveRequest } from "../wire/request.ts";

/** Facts about a request that its audit lines show. */
export interface AuditSubject extends Pick<GroveRequest, "clientAddress" | "token" | "data" | "notes"> {
  readonly operation: AuditLine["operation"];
  /** Path without any token in it; "" until the route is known. */
  readonly path: string;
  /** True for the name of a field that the endpoint defines. Absent: it defines none. */
  readonly isKnown?: (name: string) => boolean;
}

const NONE_KNOWN = () => false;
/** Maximum length of the identity that a login proved. The subject of a JWT has no bound of its own. */
const MAX_PRINCIPAL_LENGTH = 2048;

/**
 * The audit log of one request, over HTTP or RPC: a request line before it changes anything or issues a token, and a
 * response line when it is answered, which the audit store keeps too. Facts are added as they become known, so that
 * the response line can be written wherever the request ends.
 */
export class AuditRecord {
  readonly #env: Env;
  readonly #via: AuditLine["via"];
  readonly #id: string;
  readonly #arrivedAt = currentTime();
  readonly #subject: { -readonly [name in keyof AuditSubject]: AuditSubject[name] };
  #installation: Installation | null = null;
  /** State of the request line. "handed over": the code that authenticates the token writes it if the token is good. */
  #firstLine: "none" | "handed over" | "written" = "none";
  /** The fields of the request as its first line has them. */
  #firstData: AuditLine["data"];

  constructor(env: Env, via: AuditLine["via"], id: string, subject: AuditSubject) {
    this.#env = env;
    this.#via = via;
    this.#id = id;
    this.#subject = { ...subject };
  }

  /** Adds facts about the request. The first installation that is given stays. */
  learn(subject: Partial<AuditSubject>, installation: Installation | null = null): void {
    Object.assign(this.#subject, subject);
    this.#installation ??= installation;
  }

  get hasPath(): boolean {
    return this.#subject.path !== "";
  }

  /** The role that a login named; "" when it named none, or one that does not exist on its mount. */
  get role(): string {
    const { role = "", roleExists = false } = this.#subject.notes;
    return roleExists ? role : "";
  }

  /**
   * Writes the request line at once, without the caller. For a request that acts before a token is authenticated, or
   * without one: an open endpoint, a login, a call over RPC. Call it directly before the handler.
   */
  async begin(): Promise<void> {
    writeAuditLine(await this.#request(OPEN_ENTRIES));
    this.#firstLine = "written";
  }

  /** Returns the request line. The code that authenticates the token adds the caller, and writes it for a valid one. */
  async firstLine(): Promise<AuditLine> {
    this.#firstLine = "handed over";
    return this.#request(CALLER_ENTRIES);
  }

  /**
   * Writes the response line, and gives it to the audit store. Resolves when the request may be answered.
   * @param reply null for an answer that can't contain a token.
   */
  async end(status: number, result: Result<unknown>, reply: Reply | null): Promise<void> {
    const now = currentTime();
    const error = firstError(result, this.#subject);
    const {
      auth: caller,
      targetAccessor: target,
      holderAccessor: holder,
      madeId,
      targetAccessors,
      targetEntities,
      revocation,
      ...login
    } = this.#subject.notes;
    const { role, roleExists, principal, check, secretId, alternatePath } = login;
    const issued = await this.#issued(reply);
    const auth = caller ?? issued?.auth;
    const line: AuditLine = {
      type: "response",
      time: formatRfc3339(now),
      ...(await this.#known(caller !== undefined)),
      ...(this.#lacksData(caller !== undefined) && (await this.#data(caller ? CALLER_ENTRIES : OPEN_ENTRIES))),
      status,
      duration_ms: now - this.#arrivedAt,
      ...(error !== undefined && { error }),
      ...(auth && { auth }),
      ...(issued && { response: issued }),
      ...(target !== undefined && caller?.accessor !== target && { target_accessor: target }),
      ...(madeId !== undefined && { made_id: madeId }),
      ...(holder !== undefined && { holder_accessor: holder }),
      ...(targetAccessors && { target_accessors: targetAccessors }),
      ...(targetEntities && { target_entities: targetEntities }),
      ...(revocation && { revocation }),
      ...(role !== undefined && { role: roleExists ? role : await this.#hashed(role) }),
      ...(principal !== undefined && { principal: principal.slice(0, MAX_PRINCIPAL_LENGTH) }),
      ...(check && { check }),
    };
    const text = writeAuditLine(line);
    await keepAnswer(this.#env, {
      line,
      alternatePath,
      secretId,
      text,
      data: this.#firstData,
      at: now,
      acts: this.#firstLine !== "none",
      failure: result.ok ? null : result.error.code,
    });
  }

  async #request(mostEntries: number): Promise<AuditLine> {
    const known = await this.#known(false);
    const { data } = await this.#data(mostEntries);
    this.#firstData = data;
    return { type: "request", time: formatRfc3339(currentTime()), ...known, ...(data && { data }) };
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

  async #data(most: number): Promise<Pick<AuditLine, "data">> {
    const { data, path, isKnown = NONE_KNOWN } = this.#subject;
    const installation = this.#installation;
    if (!installation || Object.keys(data).length === 0) return {};
    const plain = installation.mountServing(path)?.config.auditNonHmacRequestKeys ?? [];
    return { data: await auditData(installation, { data, isKnown, plain, most }) };
  }

  /**
   * True when the response line must have the fields, since no request line has them. The fields of a read without a
   * valid token are not logged: they prove nothing, and anyone can send many of them.
   */
  #lacksData(isGood: boolean): boolean {
    // A request line that was handed over is not written when the token is invalid.
    return this.#firstLine === "none" ? isGood : this.#firstLine === "handed over" && !isGood;
  }

  async #issued(reply: Reply | null): Promise<AuditLine["response"]> {
    const { issuedToken, targetAccessor } = this.#subject.notes;
    if (issuedToken) return { auth: issuedToken };
    const handedOut = reply?.kind === "auth" || reply?.kind === "wrapped" ? reply.auth : undefined;
    // The answer to a renewal describes the token that was renewed, which is not a new one.
    const isNew = handedOut !== undefined && handedOut.accessor !== targetAccessor;
    const auth = isNew && { auth: await this.#issuedToken(handedOut) };
    if (reply?.kind !== "wrapped") return auth || undefined;
    const { accessor, wrappedAccessor } = reply.wrapInfo;
    const inside = wrappedAccessor !== "" && { wrapped_accessor: wrappedAccessor };
    return { ...auth, wrap_info: { accessor, ...inside } };
  }

  async #issuedToken(token: AuthReply): Promise<AuditAuth> {
    const hashed = async ([name, text]: [string, string]) => [name, await this.#hashed(text)];
    const secrets = Object.entries(token.secretMetadata ?? {}).map(hashed);
    return {
      accessor: token.accessor,
      display_name: token.displayName,
      policies: token.tokenPolicies,
      entity_id: token.entityId,
      token_type: token.tokenType,
      metadata: { ...token.metadata, ...Object.fromEntries(await Promise.all(secrets)) },
      ...(token.accessor === "" && { token_hash: await this.#hashed(token.clientToken) }),
    };
  }

  async #hashed(text: string): Promise<string> {
    return this.#installation ? auditHash(this.#installation.keys, text) : "";
  }
}

function mountOfPath(installation: Installation, path: string): string | null {
  const method = installation.mountServing(path);
  if (method) return `auth/${method.path}`;
  const [first = ""] = path.split("/", 1);
  return FIXED_MOUNTS.has(first) ? `${first}/` : null;
}

const FIXED_MOUNTS: ReadonlySet<string> = new Set(["sys", "identity", "cubbyhole"]);

/** Returns the error message for the log. Fixed texts replace messages with the client's path or names of fields. */
function firstError(
  result: Result<unknown>,
  { data, isKnown }: Pick<AuditSubject, "data" | "isKnown">,
): string | undefined {
  if (result.ok) return undefined;
  if (result.error.code === "no_route") return "no handler for route";
  if (result.error.code === "unknown_fields") return UNKNOWN_FIELDS;
  if (result.error.code === "rate_limited") return QUOTA_EXCEEDED;
  const logged = "logged" in result.error ? result.error.logged : undefined;
  const [first] = logged === undefined ? toWire(result.error).errors : [logged];
  return first === undefined ? undefined : auditMessage(first, data, isKnown);
}
