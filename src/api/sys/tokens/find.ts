import { callerOf, isBatchAlive, type ParsedToken, readToken } from "../../../auth/caller.ts";
import type { RegisteredToken } from "../../../auth/credential.ts";
import { JWT_FORM } from "../../../auth/leaked-text.ts";
import { type Answered, type PresentedContext, type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatTime, type Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { withoutWhiteSpace } from "../../../base/white-space.ts";
import type { Env } from "../../../env.ts";
import { ENTITY_PROBLEMS, type EntityProblem, entityProblem } from "../../../identity/entity-copies.ts";
import type { EndedToken } from "../../../listing/inventory/ended-tokens.ts";
import type { ListedToken } from "../../../listing/inventory/entry.ts";
import { withLastUses } from "../../../listing/inventory/last-uses.ts";
import { findEndedAt, findListedBeginning } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import { RESPONSE_WRAPPING_POLICY } from "../../../policy/policy-names.ts";
import { mayContain } from "../../../system/custom-id-list.ts";
import type { StoredTarget } from "../../../token/actions.ts";
import type { BatchToken } from "../../../token/batch.ts";
import {
  addressBeginning,
  BATCH_PREFIX,
  claimedAddress,
  couldBeCustomId,
  customIdHashes,
  readAccessor,
  SERVICE_PREFIX,
  SERVICE_TOKEN_LENGTH,
  type TokenAddress,
  treeBeginning,
} from "../../../token/ids.ts";
import type { TokenRecord } from "../../../token/record.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { customIdsOf } from "../../../tree/custom-ids.ts";
import { pasted, strictSchema, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { END_VIEW } from "./ended.ts";
import { findLease } from "./find-lease.ts";
import { findLogin } from "./find-login.ts";
import { fromNetworks } from "./networks-text.ts";
import { TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";

/**
 * The state of a text. `unjudged`: clients may log in with it, which could not be decided. `refused`: a token that has
 * not ended, but every request with it is refused, because its entity is disabled, was deleted or was tampered with.
 * `unknown` with a kind: it is genuine, but nothing is stored of it. `mistyped`: its checksum is wrong, and it begins
 * like a token of this installation. `elsewhere`: it has the form of a token, but this installation has not made it, or
 * its beginning is damaged too.
 */
const STATES = ["live", "refused", "ended", "unjudged", "mistyped", "elsewhere", "unknown"] as const;

interface Found {
  readonly state: (typeof STATES)[number];
  /** `service`, `wrapping`, `batch`, `secret-id`, `jwt`, `identity-document`, `lease`, or the type of a registered credential; "" when it is not known. */
  readonly kind: string;
  /** One sentence for people. */
  readonly message: string;
  /** Why it is refused; only in that state. */
  readonly refusal?: EntityProblem;
  /** True for the text of a token whose id a root caller chose. */
  readonly isChosen?: boolean;
  readonly token?: ListedToken | undefined;
  readonly ended?: Pick<EndedToken, "end" | "token">;
  readonly credential?: Credential;
  /** Of a JWT or a document of an instance: paths of the mounts that may take it. */
  readonly mounts?: readonly string[] | undefined;
}

/** A credential that no list has: a batch token, a secret-id, or one of a registered kind. */
interface Credential {
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
  policies: [["string"], ({ record }) => record?.policies ?? []],
  metadata: [{ "*": "string" }, ({ record, owner }) => ({ ...record?.meta, ...owner })],
  entity_id: ["string", ({ record }) => record?.entityId ?? ""],
  path: ["string", ({ record, path = "" }) => record?.path ?? path],
  created: ["string | null", ({ record, createdAt = null }) => formatTime(record?.createdAt ?? createdAt)],
  expires: ["string | null", ({ expiresAt }) => formatTime(expiresAt)],
  parent: ["string | null", ({ parent }) => parent],
});

const FOUND_VIEW = view<{ readonly found: Found; readonly show: ReturnType<typeof tokenRenderer> }>({
  state: [["one of", ...STATES], ({ found }) => found.state],
  kind: ["string", ({ found }) => found.kind],
  message: ["string", ({ found }) => found.message],
  chosen_id: ["boolean", ({ found }) => found.isChosen ?? false],
  "mounts?": [["string"], ({ found }) => found.mounts],
  "token?": [TOKEN_SHAPE, ({ found, show }) => found.token && show(found.token)],
  "ended?": [END_VIEW.shape, ({ found: { ended } }) => ended && END_VIEW.show(ended)],
  "credential?": [CREDENTIAL_VIEW.shape, ({ found: { credential } }) => credential && CREDENTIAL_VIEW.show(credential)],
});

const INPUT = strictSchema({
  token: text().describe("Any text that was found."),
  accessor: pasted().describe("The accessor of a token, in place of the text."),
});

interface Asked {
  readonly token: string;
  readonly accessor: string;
}

/** What is known of a text that leaked. The text is sent in a body only. */
export const FIND_ROUTE: Route = tokenRoute("update", "sys/tokens/find", {
  summary: "Says what a text is: a token (whose, alive, ended, mistyped), an accessor.",
  operationId: "inventory-find-token",
  answers: dataAnswer(FOUND_VIEW.shape),
  input: INPUT,
  prepare: async ({ fields: { token, accessor } }: PresentedContext<Asked>): Promise<Result<null>> =>
    (withoutWhiteSpace(token) === "") === (accessor === "") ? refuse("send either token or accessor") : ok(null),
  handle: async (context): Answered => {
    const { env, installation, fields } = context;
    const { accessor } = fields;
    const text = withoutWhiteSpace(fields.token);
    const presented = text === "" ? null : await readToken(env, installation, text);
    const found = presented
      ? await findToken(context, presented)
      : ((await findAccessor(context, accessor || text)) ??
        (await findHolder(context, text)) ??
        (await findEndedCustomId(context, text)) ??
        (await findLoginText(context, fields.token, text)) ??
        (await judgeUnknown(env, accessor || text)));
    return dataReply(FOUND_VIEW.show({ found, show: tokenRenderer(installation) }));
  },
});

type Context = Pick<PresentedContext<Asked>, "env" | "installation">;

async function findToken(context: Context, presented: ParsedToken): Promise<Found> {
  if (presented.kind === "service") {
    const { text, credential } = presented;
    const { treeId, row, verifier } = credential;
    const stored = await findStored(context, { treeId, row }, { by: "token", row, verifier });
    return { ...stored, isChosen: !text.startsWith(SERVICE_PREFIX) };
  }
  return presented.kind === "batch" ? findBatch(context, presented.token) : findRegistered(context, presented);
}

/** Returns the service token that a target names, alive or ended. */
async function findStored({ env, installation }: Context, address: TokenAddress, target: StoredTarget): Promise<Found> {
  const tree = treeAt(env, address.treeId);
  // A look-up would count as a use of the token, and hide when a leaked token was last used.
  const end = await tree.endOf(target, installation.watermarks.newest);
  const token = end === null ? await listedAt(env, address) : undefined;
  if (token) {
    const kind = kindOf(token);
    const from = fromNetworks([await boundNetworks({ env, installation }, address, token)]);
    return { ...(await standing(env, token.entityId, `${LIVE_MESSAGES[kind]}${from}.`)), kind, token };
  }
  // The tree is asked first: its rows are deleted when the list has the record.
  const inTree = await tree.unsweptEnd(target);
  const ended = inTree?.entry
    ? { token: { ...inTree.entry, id: address.row }, end: inTree.end }
    : await findEndedAt(env, address);
  if (!ended) {
    return { state: "unknown", kind: "service", message: `A token of this installation that is ${NO_RECORD}.` };
  }
  const message = "This token has ended: it can't be used any more.";
  return { state: "ended", kind: kindOf(ended.token), message, token: ended.token, ended };
}

/** The networks that a live token is bound to. A look-up by its accessor is no use of it. */
async function boundNetworks(
  { env, installation }: Context,
  { treeId, row }: TokenAddress,
  { accessor }: ListedToken,
): Promise<readonly string[]> {
  const read = await readAccessor(installation.keys, accessor);
  if (!read) return [];
  const target = { by: "accessor", row, tail: read.tail } as const;
  const found = await treeAt(env, treeId).act({ kind: "lookup", target });
  return found.ok && found.value.kind === "token" ? found.value.token.boundCidrs : [];
}

const NO_RECORD =
  "unknown to these data: it ended and its record is kept no longer, or it was made after the backup that they come from";

/** Returns the state of a live token: `refused` because of its entity, or `live`. @param message for `live`. */
async function standing(
  env: Env,
  entityId: string,
  message: string,
): Promise<Pick<Found, "state" | "message" | "refusal">> {
  const refusal = await entityProblem(env, entityId);
  if (refusal === null) return { state: "live", message };
  return { state: "refused", refusal, message: `This token is ${refusedText(refusal)}. ${AFTERWARDS[refusal]}` };
}

const refusedText = (refusal: EntityProblem): string => `alive, but refused: ${ENTITY_PROBLEMS[refusal]}`;

/** Whether a token of such an entity can be used again. */
const AFTERWARDS: Readonly<Record<EntityProblem, string>> = {
  disabled: "It can be used again when the entity is enabled.",
  deleted: "It can't be used any more.",
  tampered: "It can't be used as long as the row is there.",
};

const kindOf = ({ policies }: ListedToken) => (policies.includes(RESPONSE_WRAPPING_POLICY) ? "wrapping" : "service");

const LIVE_MESSAGES = {
  service: "This token is alive: anyone who has the text can use it",
  wrapping: "This is a wrapping token that nobody has unwrapped: anyone who has the text can take what it holds, once",
} as const;

async function listedAt(env: Env, { treeId, row }: TokenAddress): Promise<ListedToken | undefined> {
  const [entry] = await treeAt(env, treeId).describe([row]);
  const token = entry && { ...entry, id: row };
  return token && (await withLastUses(env, [token]))(token);
}

async function findBatch({ env, installation }: Context, token: BatchToken): Promise<Found> {
  const isAlive = await isBatchAlive(env, installation, token, currentTime());
  const parent = (token.parent && (await listedAt(env, token.parent))?.accessor) ?? null;
  const isOver = token.expiresAt <= currentTime();
  const credential = { accessor: "", record: token.record, owner: {}, expiresAt: token.expiresAt, parent };
  if (isAlive) {
    const message = `A batch token that is alive. No list has it: it ends by itself${parent ? " or with its parent" : ""}. Anyone who has the text can use it${fromNetworks([token.record.boundCidrs])}.`;
    return { ...(await standing(env, token.record.entityId, message)), kind: "batch", credential };
  }
  const message = `A batch token that has ended: ${isOver ? "its time is over" : "with its parent, or with all that were issued then"}.`;
  return { state: "ended", kind: "batch", message, credential };
}

async function findRegistered({ env, installation }: Context, token: RegisteredToken): Promise<Found> {
  const { type: kind } = token;
  const caller = await callerOf(env, installation, token);
  if (caller?.kind === "registered") {
    const { accessor, record } = caller;
    const credential = { accessor, record, owner: {}, expiresAt: caller.token.expiresAt, parent: null };
    const message = `${articleOf(kind)} ${kind} token that is alive: anyone who has the text can use it.`;
    return { ...(await standing(env, record.entityId, message)), kind, credential };
  }
  const owner = (await token.owner?.(env)) ?? null;
  const message = `${articleOf(kind)} ${kind} token that is not valid any more${owner ? "" : ", of an owner that was deleted"}.`;
  if (!owner) return { state: "ended", kind, message };
  return {
    state: "ended",
    kind,
    message,
    credential: { accessor: "", record: null, owner, expiresAt: null, parent: null },
  };
}

const articleOf = (noun: string): string => (/^[aeiou]/.test(noun) ? "An" : "A");

/** Returns the token with this accessor; null for a text that is no accessor of this installation. */
async function findAccessor(context: Context, accessor: string): Promise<Found | null> {
  const read = await readAccessor(context.installation.keys, accessor);
  if (!read) return null;
  const { treeId, row, tail } = read;
  const found = await findStored(context, { treeId, row }, { by: "accessor", row, tail });
  const message = `This is the accessor of a token that ${ofAccessor(found)}. It is no secret: no request is authenticated by it.`;
  return { ...found, message };
}

/** Returns what is known of the id of a lease, with the token that holds it or held it; null for any other text. */
async function findHolder(context: PresentedContext<Asked>, text: string): Promise<Found | null> {
  const lease = await findLease(context, text);
  if (!lease) return null;
  const { state, message, holder } = lease;
  const { token, ended } = holder ? await findStored(context, holder.address, holder.target) : {};
  return { state, kind: "lease", message, token, ...(ended && { ended }) };
}

function ofAccessor({ state, refusal }: Found): string {
  if (state === "live") return "is alive";
  if (refusal) return `is ${refusedText(refusal)}`;
  return state === "ended" ? "has ended" : `is ${NO_RECORD}`;
}

/** Returns the token that ended and whose id a root caller chose; null for a text that was no such id lately. */
async function findEndedCustomId(context: Context, text: string): Promise<Found | null> {
  const { env, installation } = context;
  if (!couldBeCustomId(text)) return null;
  for (const { whole, directoryKey, verifier } of await customIdHashes(installation.keys, text, currentTime())) {
    if (!mayContain(installation.customIdList, whole)) continue;
    const address = await customIdsOf(env, directoryKey).findEnded(directoryKey);
    if (!address) continue;
    const found = await findStored(context, address, { by: "token", row: address.row, verifier });
    if (found.state === "ended" || found.state === "unknown") return { ...found, isChosen: true };
  }
  return null;
}

/** Returns what clients log in with; null for a text that no mount knows. A chosen secret-id may have white space in it. */
async function findLoginText(context: Context, sent: string, text: string): Promise<Found | null> {
  if (text === "") return null;
  const found = await findLogin(context, [...new Set([text, sent.trim()])]);
  if (found?.state !== "live") return found && { ...found, mounts: found.mounts?.map(({ path }) => `auth/${path}`) };
  const { mount, secret, message } = found;
  const { kind, role, accessor, createdAt, expiresAt, metadata } = secret;
  const path = `auth/${mount.path}role/${role}`;
  const credential = { accessor, record: null, owner: metadata, path, createdAt, expiresAt, parent: null };
  return { state: "live", kind, message, credential };
}

/** Tokens of Vault and OpenBao, which have the interface that Grove implements. */
const OF_OTHERS = /^hv[sbr]\.[\w-]{8,}$/;

/** Says what a text is that is no token of this installation, by its form. */
async function judgeUnknown(env: Env, text: string): Promise<Found> {
  if (OF_OTHERS.test(text)) {
    return { state: "elsewhere", kind: "", message: "A token of Vault or OpenBao. This installation has not made it." };
  }
  const isService = text.startsWith(SERVICE_PREFIX);
  const address = claimedAddress(text);
  if (address && (isService || /^[\w-]+$/.test(text))) {
    const near = await nearest(env, address, isService, text);
    if (near) return near;
  }
  if (isService) {
    const message =
      "It has the form of a service token. This installation has not made it, or its beginning is damaged.";
    return { state: "elsewhere", kind: "", message };
  }
  if (text.startsWith(BATCH_PREFIX)) {
    const message = "It has the form of a batch token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (env.kinds.credentials.some(({ format }) => format.matches(text))) {
    const message = "It has the form of a token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (JWT_FORM.test(text)) {
    const message = "A JWT that no mount of this installation trusts, by the issuer that it names.";
    return { state: "elsewhere", kind: "jwt", message };
  }
  const message =
    "Nothing is known by this text. An id that was chosen is known for a while after the end of its token.";
  return { state: "unknown", kind: "", message };
}

/** Returns the token, or the tree, that a text with a wrong checksum begins like; null when its beginning is unknown. */
async function nearest(env: Env, address: TokenAddress, isService: boolean, text: string): Promise<Found | null> {
  await publishRecent(env, currentTime());
  const what = isService ? "token" : "accessor";
  const isShort = isService && text.length < SERVICE_TOKEN_LENGTH;
  const damage = isShort ? "it is cut off" : "its checksum is wrong";
  const listed = await findListedBeginning(env, addressBeginning(address));
  const ended = listed ? null : await findEndedAt(env, address);
  if (!listed && !ended) {
    const isKnownTree = (await findListedBeginning(env, treeBeginning(address.treeId))) !== null;
    const message = `A ${what} that is mistyped: ${damage}. It begins like those of a tree of this installation.`;
    return isKnownTree ? { state: "mistyped", kind: "", message } : null;
  }
  const token = listed ? await listedAt(env, address) : ended?.token;
  const message = `A ${what} that is mistyped: ${damage}. It begins like that of the token shown here.`;
  return { state: "mistyped", kind: "", message, token, ...(ended && { ended }) };
}
