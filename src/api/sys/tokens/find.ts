import { callerOf, isBatchAlive } from "../../../auth/caller.ts";
import type { RegisteredToken } from "../../../auth/credential.ts";
import { type ParsedToken, readToken } from "../../../auth/read-token.ts";
import { type Answered, type PresentedContext, type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { tokensWithin } from "../../../auth/tokens-within.ts";
import { currentTime } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { withoutWhiteSpace } from "../../../base/white-space.ts";
import { decodedText } from "../../../crypto/base64-texts.ts";
import { findEntity } from "../../../identity/read-entity.ts";
import { mayContain } from "../../../system/custom-id-list.ts";
import type { Mount } from "../../../system/mount.ts";
import type { BatchToken } from "../../../token/batch.ts";
import { couldBeCustomId, customIdHashes, readAccessor, SERVICE_PREFIX } from "../../../token/ids.ts";
import { customIdsOf } from "../../../tree/custom-ids.ts";
import { strictSchema } from "../../../wire/field-schema.ts";
import { pasted, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { findLease } from "./find-lease.ts";
import { findLogin } from "./find-login.ts";
import { type FindContext, findStored, leftText, listedAt, NO_RECORD, refusedText, standing } from "./find-stored.ts";
import { FOUND_VIEW, type Found } from "./found-text.ts";
import { judgeUnknown } from "./judge-unknown.ts";
import { fromNetworks } from "./networks-text.ts";
import { tokenRenderer } from "./token-view.ts";

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
    const { installation, fields } = context;
    const { accessor, token } = fields;
    const found =
      accessor === ""
        ? await findText(context, token, 0)
        : ((await findAccessor(context, accessor)) ?? (await judgeUnknown(context, accessor)));
    return dataReply(FOUND_VIEW.show({ found, show: tokenRenderer(installation) }));
  },
});

/** How often a text that is base64 as a whole is decoded. */
const MAX_DECODED = 2;

/** @param depth how often the text was decoded. */
async function findText(context: PresentedContext<Asked>, sent: string, depth: number): Promise<Found> {
  const { env, installation } = context;
  const text = withoutWhiteSpace(sent);
  const presented = text === "" ? null : await readToken(env, installation, text);
  if (presented) return findToken(context, presented);
  const known =
    (await findAccessor(context, text)) ??
    (await findWithin(context, [text, sent])) ??
    (await findHolder(context, text)) ??
    (await findEndedCustomId(context, text)) ??
    (await findLoginText(context, sent, text));
  if (known && known.kind !== "") return known;
  const decoded = depth === MAX_DECODED ? null : decodedText(text);
  const inner = decoded === null ? null : await findText(context, decoded, depth + 1);
  if (inner && !isNothing(inner)) return { ...inner, message: `In base64: ${inner.message}` };
  return known ?? judgeUnknown(context, text);
}

const isNothing = ({ state, kind }: Found): boolean => state === "unknown" && kind === "";

/** States of a token in a longer text, the most dangerous first. */
const BY_DANGER: readonly Found["state"][] = ["live", "refused", "unknown", "ended"];

/** Returns the most dangerous of the tokens within a text; null for a text in which none is. */
async function findWithin(context: FindContext, texts: readonly string[]): Promise<Found | null> {
  const { env, installation } = context;
  const { tokens, isAll } = tokensWithin(
    env.kinds.credentials.map(({ format }) => format),
    texts,
  );
  const found = await inGroups(tokens, async ({ text, how }) => {
    const presented = await readToken(env, installation, text);
    return presented && { how, token: await findToken(context, presented) };
  });
  const genuine = found.filter((one) => one !== null);
  const [worst] = BY_DANGER.flatMap((state) => genuine.filter(({ token }) => token.state === state));
  if (!isAll && worst?.token.state !== "live") {
    const message = "The text is longer, or has more tokens, than is looked through: send each line alone.";
    return { state: "unjudged", kind: "text", message };
  }
  if (!worst) return null;
  const others =
    genuine.length === 1 ? "" : ` It has ${genuine.length} tokens; this is about one that is ${worst.token.state}.`;
  return { ...worst.token, message: `${worst.how}${others} ${worst.token.message}` };
}

async function findToken(context: FindContext, presented: ParsedToken): Promise<Found> {
  if (presented.kind === "service") {
    const { text, credential } = presented;
    const { treeId, row, verifier } = credential;
    const stored = await findStored(context, { treeId, row }, { by: "token", row, verifier });
    return { ...stored, isChosen: !text.startsWith(SERVICE_PREFIX) };
  }
  return presented.kind === "batch" ? findBatch(context, presented.token) : findRegistered(context, presented);
}

async function findBatch({ env, installation }: FindContext, token: BatchToken): Promise<Found> {
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

async function findRegistered({ env, installation }: FindContext, token: RegisteredToken): Promise<Found> {
  const { type: kind } = token;
  const caller = await callerOf(env, installation, token);
  if (caller?.kind === "registered") {
    const { accessor, record } = caller;
    const {
      token: { expiresAt },
      origin,
    } = caller;
    const credential = { accessor, record, owner: {}, expiresAt, ...origin, parent: null };
    const message = `${articleOf(kind)} ${kind} token${origin?.description ? `, ${JSON.stringify(origin.description)},` : ""} that is alive: anyone who has the text can use it.`;
    return { ...(await standing(env, record.entityId, message)), kind, credential };
  }
  const owner = (await token.owner?.(env)) ?? null;
  const end = (await token.ended?.(env)) ?? undefined;
  const name = end && end.description !== "" ? `: ${JSON.stringify(end.description)}` : "";
  const message = `${articleOf(kind)} ${kind} token that is not valid any more${owner ? name : ", of an owner that was deleted"}.`;
  if (!owner) return { state: "ended", kind, message };
  const { accessor = "", expiresAt = null } = end ?? {};
  const made = end && { createdAt: end.createdAt, description: end.description, madeBy: end.madeBy };
  const credential = { accessor, record: null, owner, expiresAt, ...made, parent: null };
  return { state: "ended", kind, message, credential, credentialEnd: end };
}

const articleOf = (noun: string): string => (/^[aeiou]/.test(noun) ? "An" : "A");

/** Returns the token with this accessor; null for a text that is no accessor of this installation. */
async function findAccessor(context: FindContext, accessor: string): Promise<Found | null> {
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
  const { state, message, holder, unrevoked } = lease;
  const { token, ended } = holder ? await findStored(context, holder.address, holder.target) : {};
  return { state, kind: "lease", message, token, ...(ended && { ended }), ...(unrevoked && { unrevoked }) };
}

function ofAccessor({ state, refusal, unrevoked }: Found): string {
  if (state === "live") return "is alive";
  if (refusal) return `is ${refusedText(refusal)}`;
  if (state === "ended")
    return unrevoked ? `has ended. ${leftText(unrevoked)} The token itself is refused` : "has ended";
  return `is ${NO_RECORD}`;
}

/** Returns the token that ended and whose id a root caller chose; null for a text that was no such id lately. */
async function findEndedCustomId(context: FindContext, text: string): Promise<Found | null> {
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
async function findLoginText(context: FindContext, sent: string, text: string): Promise<Found | null> {
  if (text === "") return null;
  const found = await findLogin(context, [...new Set([text, sent.trim()])]);
  if (!found) return null;
  if (!found.secret) {
    const { aliases = [], ...judged } = found;
    const entities = await entitiesOf(context, aliases);
    return {
      ...judged,
      mounts: found.mounts?.map(({ path }) => `auth/${path}`),
      ...(entities.length > 0 && { entities }),
    };
  }
  const { mount, secret, message } = found;
  const { kind, role, accessor, createdAt, expiresAt, metadata } = secret;
  const path = `auth/${mount.path}role/${role}`;
  const credential = { accessor, record: null, owner: metadata, path, createdAt, expiresAt, parent: null };
  return { state: "live", kind, message, credential };
}

/** Maximum number of aliases whose entities are looked up. */
const MAX_ALIASES_FOUND = 12;

async function entitiesOf({ env }: FindContext, aliases: readonly { readonly mount: Mount; readonly name: string }[]) {
  const found = await inGroups(aliases.slice(0, MAX_ALIASES_FOUND), async ({ mount, name }) => {
    const entity = await findEntity(env, { mountAccessor: mount.accessor, name });
    return entity ? [{ entity, alias: name, mount: `auth/${mount.path}` }] : [];
  });
  return found.flat();
}
