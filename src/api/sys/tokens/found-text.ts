import type { CredentialOrigin, EndedCredential } from "../../../auth/credential.ts";
import { formatRfc3339, formatTime, type Ms } from "../../../base/clock.ts";
import type { EntityProblem } from "../../../identity/entity-copies.ts";
import type { EntityRecord } from "../../../identity/model.ts";
import type { EndedToken } from "../../../listing/inventory/ended-tokens.ts";
import type { ListedToken } from "../../../listing/inventory/entry.ts";
import type { TokenRecord } from "../../../token/record.ts";
import { view } from "../../../wire/view.ts";
import { actorObject, END_VIEW } from "./end-of-token.ts";
import { TOKEN_SHAPE, type tokenRenderer } from "./token-view.ts";
import { type HeldUnrevoked, UNREVOKED_VIEW } from "./unrevoked-leases.ts";

/**
 * The state of a text. `unjudged`: clients may log in with it, which could not be decided. `refused`: a token that has
 * not ended, but every request with it is refused, because its entity is disabled, was deleted or was tampered with.
 * `unknown` with a kind: it is genuine, but nothing is stored of it; or a role-id that needs a secret-id. `mistyped`:
 * its checksum is wrong, and it begins or ends like a token of this installation. `elsewhere`: it has the form of a
 * token, but this installation has not made it, or it is damaged in several places.
 */
const STATES = ["live", "refused", "ended", "unjudged", "mistyped", "elsewhere", "unknown"] as const;

export interface Found {
  readonly state: (typeof STATES)[number];
  /** `service`, `wrapping`, `batch`, `secret-id`, `role-id`, `jwt`, `identity-document`, `lease`, `part`, `text`, or the type of a registered credential; "" when it is not known. */
  readonly kind: string;
  /** One sentence for people. */
  readonly message: string;
  /** Why it is refused; only in that state. */
  readonly refusal?: EntityProblem;
  /** True for the text of a token whose id a root caller chose. */
  readonly isChosen?: boolean;
  readonly token?: ListedToken | undefined;
  readonly ended?: Pick<EndedToken, "end" | "token">;
  /** Of a token, or a lease, that ended: leases whose secrets can still be used. */
  readonly unrevoked?: HeldUnrevoked;
  readonly credential?: Credential;
  /** How a credential of a registered kind ended, if that is recorded. */
  readonly credentialEnd?: EndedCredential | undefined;
  /** Of a role-id, a JWT or a document of an instance: paths of the mounts that may take it. */
  readonly mounts?: readonly string[] | undefined;
  /** Of a JWT: the entities to which its logins would belong. */
  readonly entities?: readonly FoundEntity[];
  /** Of a wrapping token: accessor of the token or the secret-id that it holds; "" for none. */
  readonly wrappedAccessor?: string;
  /** The role of a role-id; of a JWT the roles that take its claims now, by the path of their mount. */
  readonly roles?: Readonly<Record<string, readonly string[]>>;
}

/** An entity, and its alias at a mount. */
interface FoundEntity {
  readonly entity: Pick<EntityRecord, "id" | "name" | "disabled">;
  readonly alias: string;
  readonly mount: string;
}

const ENTITY_VIEW = view<FoundEntity>({
  id: ["string", ({ entity }) => entity.id],
  name: ["string", ({ entity }) => entity.name],
  disabled: ["boolean", ({ entity }) => entity.disabled],
  alias: ["string", ({ alias }) => alias],
  mount: ["string", ({ mount }) => mount],
});

/** A credential that no list has: a batch token, a secret-id, or one of a registered kind. */
export interface Credential extends Partial<CredentialOrigin> {
  readonly accessor: string;
  /** null: nothing is known but its owner. */
  readonly record: TokenRecord | null;
  readonly owner: Readonly<Record<string, string>>;
  readonly expiresAt: Ms | null;
  /** Path and time of creation of a credential without a record. */
  readonly path?: string;
  readonly createdAt?: Ms;
  /** Accessor of the live token that it ends with; null: none. */
  readonly parent: string | null;
}

const CREDENTIAL_VIEW = view<Credential>({
  accessor: ["string", ({ accessor }) => accessor],
  display_name: ["string", ({ record }) => record?.displayName ?? ""],
  description: ["string", ({ description = "" }) => description],
  created_by: ["string", ({ madeBy = "" }) => madeBy],
  policies: [["string"], ({ record }) => record?.policies ?? []],
  metadata: [{ "*": "string" }, ({ record, owner }) => ({ ...record?.meta, ...owner })],
  entity_id: ["string", ({ record }) => record?.entityId ?? ""],
  path: ["string", ({ record, path = "" }) => record?.path ?? path],
  created: ["string | null", ({ record, createdAt = null }) => formatTime(record?.createdAt ?? createdAt)],
  expires: ["string | null", ({ expiresAt }) => formatTime(expiresAt)],
  parent: ["string | null", ({ parent }) => parent],
});

/** The value of `END_VIEW` for a credential that is no token of a tree. */
function shownEnd({ accessor, at, how, by }: EndedCredential) {
  const actor = by === "" ? null : { accessor: "", displayName: by, entityId: "" };
  const none = { request_id: "", request_path: "", job: "" };
  return { at: formatRfc3339(at), how, by: actorObject(actor), cause: accessor, ...none };
}

export const FOUND_VIEW = view<{ readonly found: Found; readonly show: ReturnType<typeof tokenRenderer> }>({
  state: [["one of", ...STATES], ({ found }) => found.state],
  kind: ["string", ({ found }) => found.kind],
  message: ["string", ({ found }) => found.message],
  chosen_id: ["boolean", ({ found }) => found.isChosen ?? false],
  "mounts?": [["string"], ({ found }) => found.mounts],
  "roles?": [{ "*": ["string"] }, ({ found }) => found.roles],
  "entities?": [[ENTITY_VIEW.shape], ({ found }) => found.entities?.map(ENTITY_VIEW.show)],
  "wrapped_accessor?": ["string", ({ found }) => found.wrappedAccessor || undefined],
  "token?": [TOKEN_SHAPE, ({ found, show }) => found.token && show(found.token)],
  "ended?": [
    END_VIEW.shape,
    ({ found: { ended, credentialEnd: end } }) => (ended ? END_VIEW.show(ended) : end && shownEnd(end)),
  ],
  "unrevoked_leases?": [
    UNREVOKED_VIEW.shape,
    ({ found: { unrevoked } }) => unrevoked && UNREVOKED_VIEW.show(unrevoked),
  ],
  "credential?": [CREDENTIAL_VIEW.shape, ({ found: { credential } }) => credential && CREDENTIAL_VIEW.show(credential)],
});
