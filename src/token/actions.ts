import type { Result } from "../base/result.ts";
import type { Verdict } from "../policy/acl.ts";
import type { EndRequest } from "../system/end-request.ts";
import type { MountTtl } from "../system/mount.ts";
import type { AuditLine } from "../wire/audit.ts";
import type { Call } from "./decide.ts";
import type { NewTokenIds } from "./ids.ts";
import type { TokenSpec, TokenView } from "./record.ts";
import type { TokenRole } from "./role.ts";
import type { CreateRequest } from "./rules/create.ts";
import type { RenewTerms } from "./rules/renew.ts";

/**
 * A token of this tree: the caller itself, one whose text is known, one whose accessor is known, or one that the Worker knows
 * by its lease id, whose keyed hash it has checked: the tree has nothing to compare with.
 */
export type Target =
  | { readonly by: "self" }
  | { readonly by: "token"; readonly row: number; readonly verifier: Uint8Array }
  | { readonly by: "accessor"; readonly row: number; readonly tail: Uint8Array }
  | { readonly by: "lease"; readonly row: number };

/** What a tree can be asked to do about one of its tokens. In the hop that authenticates the tree knows the caller, and adds it to `asked`. */
export type TargetAction =
  | { readonly kind: "lookup"; readonly target: Target }
  /**
   * `terms` null: the token's own; a token made by a role or by a login needs those that its role or method gives today,
   * which the answer then asks for.
   */
  | {
      readonly kind: "renew";
      readonly target: Target;
      readonly increment: number;
      readonly mount: MountTtl;
      readonly terms: RenewTerms | null;
    }
  /** Reads the answer that a wrapping token holds; with `take` the token dies by it. */
  | { readonly kind: "unwrap"; readonly target: Target; readonly take: boolean; readonly asked: EndRequest }
  | RevokeAction;

/** Ends a token, with what is below it or alone. */
export interface RevokeAction {
  readonly kind: "revoke" | "revoke_orphan";
  readonly target: Target;
  readonly asked: EndRequest;
}

/** What a tree can be asked to do for the token that makes the request, after its policies allowed it. */
export type CallerAction =
  | TargetAction
  | {
      readonly kind: "create";
      readonly request: CreateRequest;
      readonly role: TokenRole | null;
      readonly mount: MountTtl;
      /** For a child in this tree; null when the Worker knows that the token will live elsewhere. */
      readonly ids: NewTokenIds | null;
    }
  | { readonly kind: "cubbyhole_read"; readonly path: string }
  | { readonly kind: "cubbyhole_list"; readonly prefix: string; readonly after: string; readonly limit: number }
  | { readonly kind: "cubbyhole_write"; readonly path: string; readonly sealed: Uint8Array }
  | { readonly kind: "cubbyhole_delete"; readonly path: string };

/** What came of an action. */
export type Outcome =
  | { readonly kind: "token"; readonly token: TokenView }
  | { readonly kind: "renewed"; readonly token: TokenView; readonly warnings: readonly string[] }
  | { readonly kind: "needs_terms"; readonly token: TokenView }
  | { readonly kind: "created"; readonly token: TokenView; readonly warnings: readonly string[] }
  /** May be made, but not in this tree or not in this step: the Worker goes on. */
  | { readonly kind: "planned"; readonly spec: TokenSpec; readonly warnings: readonly string[] }
  /** Nothing was done: the row is another token's, or may have been one's. A new one is to be greater than `above`. */
  | { readonly kind: "row_taken"; readonly above: number }
  | { readonly kind: "wrapped"; readonly token: TokenView; readonly sealed: Uint8Array }
  | { readonly kind: "value"; readonly sealed: Uint8Array }
  | { readonly kind: "keys"; readonly keys: readonly string[] }
  /** `accessor` of the token that was revoked. */
  | { readonly kind: "revoked"; readonly accessor: string }
  | { readonly kind: "done" };

/** A request as the caller's tree sees it. */
export interface TreeCall extends Call {
  readonly row: number;
  readonly verifier: Uint8Array;
  /** The newest watermark that the Worker knows; 0 when there was none. The tree checks against no older ones. */
  readonly watermark: number;
  readonly action: CallerAction | null;
  /** The audit line of a request that may change something. The tree adds the caller and writes it before it acts. */
  readonly line: AuditLine | null;
}

/** The caller as it was before the request's own action, what its policies grant on the path, and what came of the action. */
export interface TreeAnswer {
  readonly caller: TokenView;
  /** null: the policies refuse the request. */
  readonly verdict: Verdict | null;
  /** null without an action. A failure here is the action's own: the caller was good and allowed. */
  readonly outcome: Result<Outcome> | null;
}
