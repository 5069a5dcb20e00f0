import type { Seconds } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { type Failure, ok, type Result } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Verdict } from "../policy/acl.ts";
import type { MountTtl } from "../system/mount.ts";
import type { RevocationOrigin } from "../system/revocation-origin.ts";
import type { AuditLine } from "../wire/audit.ts";
import type { Call } from "./decide.ts";
import type { NewTokenIds } from "./ids.ts";
import type { TokenSpec, TokenView } from "./record.ts";
import type { TokenRole } from "./role.ts";
import type { CreateRequest } from "./rules/create.ts";
import type { RenewTerms } from "./rules/renew.ts";

/**
 * A token of this tree: the caller itself, or a token named by its text, its accessor or its lease id. The Worker has
 * checked the keyed hash of a lease id, and the tree stores nothing to compare it with.
 */
export type TokenTarget =
  | { readonly by: "self" }
  | { readonly by: "token"; readonly row: number; readonly verifier: Uint8Array }
  | { readonly by: "accessor"; readonly row: number; readonly tail: Uint8Array }
  | { readonly by: "lease"; readonly row: number };

/** A token that is named by its text, its accessor or its lease id. */
export type StoredTarget = Exclude<TokenTarget, { readonly by: "self" }>;

/** What a tree stores of the ids of a token. */
export interface StoredIds {
  readonly verifier: Uint8Array;
  readonly accessorTail: Uint8Array;
}

/** True when the target names the token with these ids, which was found in the row of the target. */
export function isTarget({ verifier, accessorTail }: StoredIds, target: TokenTarget): boolean {
  switch (target.by) {
    case "token":
      return equalBytes(verifier, target.verifier);
    case "accessor":
      return equalBytes(accessorTail, target.tail);
    // The Worker has compared the keyed hash of a lease id.
    case "lease":
    case "self":
      return true;
  }
}

/** An action on a token of a tree. In the call that authenticates, the tree knows the caller and adds it to `asked`. */
export type TargetAction =
  | { readonly kind: "lookup"; readonly target: StoredTarget }
  /**
   * `terms` null: the token's own. A token of a role or of a login is renewed by the present terms of its role or auth
   * method: without them the outcome is `needs_terms`.
   */
  | {
      readonly kind: "renew";
      readonly target: TokenTarget;
      readonly increment: Seconds;
      readonly mount: MountTtl;
      readonly terms: RenewTerms | null;
    }
  /** Reads the answer that a wrapping token holds. `take` also revokes the token. */
  | { readonly kind: "unwrap"; readonly target: TokenTarget; readonly take: boolean; readonly asked: RevocationOrigin }
  | RevokeAction;

/** Revokes a token with all its descendants ("revoke"), or alone ("revoke_orphan": its children become orphans). */
export interface RevokeAction {
  readonly kind: "revoke" | "revoke_orphan";
  readonly target: TokenTarget;
  readonly asked: RevocationOrigin;
}

/** An action of a request in the tree of its caller, performed after the policies have allowed it. */
export type CallerAction =
  | TargetAction
  | {
      readonly kind: "create";
      readonly request: CreateRequest;
      readonly role: TokenRole | null;
      readonly mount: MountTtl;
      /** For a child in this tree; null when the Worker knows that the token is written elsewhere. */
      readonly ids: NewTokenIds | null;
    }
  | { readonly kind: "cubbyhole_read"; readonly path: string }
  | { readonly kind: "cubbyhole_list"; readonly prefix: string; readonly after: string; readonly limit: number }
  | { readonly kind: "cubbyhole_write"; readonly path: string; readonly sealed: Uint8Array }
  | { readonly kind: "cubbyhole_delete"; readonly path: string };

/** The result of an action. */
export type Outcome =
  | { readonly kind: "token"; readonly token: TokenView }
  | { readonly kind: "renewed"; readonly token: TokenView; readonly warnings: readonly string[] }
  | { readonly kind: "needs_terms"; readonly token: TokenView }
  | { readonly kind: "created"; readonly token: TokenView; readonly warnings: readonly string[] }
  /** The creation is allowed, but not in this tree or not in this step: the Worker completes it. */
  | { readonly kind: "planned"; readonly spec: TokenSpec; readonly warnings: readonly string[] }
  /** Nothing was done: another token has, or may have had, the row number. A new one must be greater than `above`. */
  | { readonly kind: "row_taken"; readonly above: number }
  | { readonly kind: "wrapped"; readonly token: TokenView; readonly sealed: Uint8Array }
  | { readonly kind: "value"; readonly sealed: Uint8Array }
  | { readonly kind: "keys"; readonly keys: readonly string[] }
  /** `accessor`: of the revoked token. */
  | { readonly kind: "revoked"; readonly accessor: string }
  | { readonly kind: "done" };

/** A request as the caller's tree sees it. */
export interface TreeCall extends Call, CallAttempt {
  readonly row: number;
  readonly verifier: Uint8Array;
  /** Number of the newest watermark that the Worker knows; 0: none. The tree uses no older watermarks. */
  readonly watermark: number;
  readonly action: CallerAction | null;
  /** True when the form of the request is wrong. It is refused after the decision and counts as no use. */
  readonly malformed: boolean;
  /** The audit line of a request that may change something. The tree adds the caller and writes it before it acts. */
  readonly line: AuditLine | null;
}

/** The caller as it was before the action of its request, what its policies grant on the path, and the outcome. */
export interface TreeAnswer {
  readonly caller: TokenView;
  /** null: the request is refused, by the policies unless there is a `refusal`. */
  readonly verdict: Verdict | null;
  /** Set when the token is alive and can't be used: from this address, or because of its entity. */
  readonly refusal?: Failure;
  /** null without an action. A failure is one of the action: the caller was authenticated and allowed. */
  readonly outcome: Result<Outcome> | null;
}

/** The answer about a token that is alive and can't be used, see `TreeAnswer.refusal`. */
export function refusedAnswer({ caller }: Pick<TreeAnswer, "caller">, refusal: Failure): Result<TreeAnswer> {
  return ok({ caller, verdict: null, refusal, outcome: null });
}
