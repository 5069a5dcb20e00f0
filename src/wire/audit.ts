import type { Ms } from "../base/clock.ts";
import { escapeUnprintable } from "../base/misleading-characters.ts";
import type { Operation } from "../policy/operation.ts";

/** A token in a line. The names are those of the reference's audit lines. */
export interface AuditAuth {
  /** The id of a token of a registered kind; "" for a batch token. */
  readonly accessor: string;
  readonly display_name: string;
  /** Policies of the token, without those of its entity. */
  readonly policies: readonly string[];
  readonly entity_id: string;
  /** "service", "batch", or the name of a registered kind. */
  readonly token_type: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Keyed hash of a new batch token, which has no accessor. */
  readonly token_hash?: string;
}

/** A line of the audit log (docs/audit.md). It contains no secret: tokens, and strings in fields, are keyed hashes. */
export interface AuditLine {
  readonly type: "request" | "response";
  /** RFC 3339. */
  readonly time: string;
  /** "rpc": a call of another Worker over a service binding. */
  readonly via: "http" | "rpc";
  /** The same in both lines of a request, and in its answer. */
  readonly request_id: string;
  readonly operation: Operation | "unknown";
  readonly path: string;
  /** Path of the mount that serves the request, with a slash at the end; absent when no mount does. */
  readonly mount?: string;
  readonly client_address: string | null;
  readonly token_hash?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly status?: number;
  /** Time from arrival to answer. On the network the clock advances only at I/O. */
  readonly duration_ms?: Ms;
  readonly error?: string;
  /** The caller's token, or the new token of a login; absent without a valid token. */
  readonly auth?: AuditAuth;
  readonly response?: {
    readonly auth?: AuditAuth;
    readonly wrap_info?: { readonly accessor: string; readonly wrapped_accessor?: string };
  };
  readonly target_accessor?: string;
  /** Id of the team, webhook or organization that was made. */
  readonly made_id?: string;
  /** Accessor of the token that holds the lease that was renewed or revoked. */
  readonly holder_accessor?: string;
  /** Accessors of the tokens that the request deleted. */
  readonly target_accessors?: readonly string[];
  /** Ids of the entities that the request changed, deleted or was to merge, or whose login was refused. */
  readonly target_entities?: readonly string[];
  readonly revocation?: AuditRevocation;
  readonly role?: string;
  /**
   * The identity that the login proved: the ARN of a principal, the id of an instance, the subject of a JWT, or the accessor of a
   * secret-id.
   */
  readonly principal?: string;
  /** The check at which a login was refused. */
  readonly check?: FailedCheck;
}

/** The failed check of a refused login. Contains names of checks, roles' claims and fields, and no value of a client. */
export interface FailedCheck {
  /** As `explain/refused` and `explain/login` of its mount call it, at most 128 characters. */
  readonly name: string;
  /** What is wrong, at most 256 characters. */
  readonly description: string;
}

/** A revocation of many tokens by a filter. The values of the filter are hashed, in the fields of the request. */
interface AuditRevocation {
  readonly dry_run: boolean;
  readonly fields: readonly string[];
  /** Number of tokens that match, and of all that end with them; absent while they are being counted. */
  readonly count?: number;
  readonly total?: number;
  readonly job?: string;
}

/** Facts for the audit log. Handlers add them as they become known, so that a later refusal is logged with them. */
export interface AuditNotes {
  auth?: AuditAuth;
  targetAccessor?: string;
  holderAccessor?: string;
  madeId?: string;
  targetAccessors?: readonly string[];
  targetEntities?: readonly string[];
  revocation?: AuditRevocation;
  /** The new token in an answer that is no `auth`. */
  issuedToken?: AuditAuth;
  role?: string;
  /** True when the login names a role of its mount. */
  roleExists?: true;
  principal?: string;
  check?: FailedCheck;
  /** The accessor of the secret-id of a login, for the audit store only. The line has it as `principal`. */
  secretId?: string;
  /** Another path of the resource, for the audit store only: the second one, or the one that policies are evaluated for. */
  alternatePath?: string;
}

/** Each unit of a character of two units is escaped by itself. */
function escapeInJson(character: string): string {
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Writes a line to the log. No other code does. A text in it can't change how the line is shown.
 * @returns the line as it is written.
 */
export function writeAuditLine(line: AuditLine): string {
  const text = escapeUnprintable(JSON.stringify(line), escapeInJson);
  console.log(text);
  return text;
}
