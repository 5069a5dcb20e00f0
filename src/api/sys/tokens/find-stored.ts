import { openAnswer } from "../../../auth/wrapped-answer.ts";
import type { Env } from "../../../env.ts";
import { ENTITY_PROBLEMS, type EntityProblem, entityProblem } from "../../../identity/entity-copies.ts";
import type { ListedToken } from "../../../listing/inventory/entry.ts";
import { withLastUses } from "../../../listing/inventory/last-uses.ts";
import { findEndedAt } from "../../../listing/inventory/queries.ts";
import { RESPONSE_WRAPPING_POLICY } from "../../../policy/policy-names.ts";
import type { Installation } from "../../../system/installation.ts";
import { NO_ORIGIN } from "../../../system/revocation-origin.ts";
import type { StoredTarget } from "../../../token/actions.ts";
import { type AccessorCredential, readAccessor, type TokenAddress } from "../../../token/ids.ts";
import { actInTree } from "../../../token/tree-calls.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { accessorInside } from "../../../wire/reply.ts";
import type { Found } from "./found-text.ts";
import { fromNetworks } from "./networks-text.ts";
import { type HeldUnrevoked, NONE_UNREVOKED, unrevokedLeases } from "./unrevoked-leases.ts";

export interface FindContext {
  readonly env: Env;
  readonly installation: Installation;
}

/** Returns the service token that a target names, alive or ended. */
export async function findStored(
  { env, installation }: FindContext,
  address: TokenAddress,
  target: StoredTarget,
): Promise<Found> {
  const tree = treeAt(env, address.treeId);
  // A look-up would count as a use of the token, and hide when a leaked token was last used.
  const end = await tree.endOf(target, installation.watermarks.newest);
  const token = end === null ? await listedAt(env, address) : undefined;
  if (token) {
    const kind = kindOf(token);
    const named = await readAccessor(installation.keys, token.accessor);
    const from = fromNetworks([named ? await boundNetworks(env, named) : []]);
    const found = { ...(await standing(env, token.entityId, `${LIVE_MESSAGES[kind]}${from}.`)), kind, token };
    if (kind !== "wrapping") return found;
    return { ...found, wrappedAccessor: named ? await wrappedAccessor({ env, installation }, named) : "" };
  }
  // The tree is asked first: its rows are deleted when the list has the record.
  const inTree = await tree.unsweptEnd(target);
  const ended = inTree?.entry
    ? { token: { ...inTree.entry, id: address.row }, end: inTree.end }
    : await findEndedAt(env, address);
  if (!ended) {
    return { state: "unknown", kind: "service", message: `A token of this installation that is ${NO_RECORD}.` };
  }
  const held = await readAccessor(installation.keys, ended.token.accessor);
  const unrevoked = held ? await unrevokedLeases(env, [held]) : NONE_UNREVOKED;
  const left = leftText(unrevoked);
  const message = `This token has ended: it can't be used any more.${left === "" ? "" : ` ${left}`}`;
  const found = { state: "ended", kind: kindOf(ended.token), message, token: ended.token, ended } as const;
  return left === "" ? found : { ...found, unrevoked };
}

/** Says that secrets outlive their token, or may; "" when none does. */
export function leftText({ waiting, failing, removed, more }: HeldUnrevoked): string {
  const count = waiting + failing;
  const held = (number: number) => (number === 1 ? "1 lease that it held" : `${number} leases that it held`);
  const forced = `${held(removed)} ${removed === 1 ? "was" : "were"} removed without the target's answer`;
  const removedText = removed === 0 ? "" : `But ${forced}: such a secret may still be used.`;
  if (count === 0 && !more) return removedText;
  const leases = `${more ? `More than ${count} leases that it held` : held(count)} ${count === 1 && !more ? "has" : "have"}`;
  const left = `But ${leases} not been revoked: such a secret can still be used.`;
  return removed === 0 ? left : `${left} ${removedText}`;
}

/** The networks that a live token is bound to. A look-up by its accessor is no use of it. */
async function boundNetworks(env: Env, { treeId, row, tail }: AccessorCredential): Promise<readonly string[]> {
  const found = await actInTree(env, treeId, { kind: "lookup", target: { by: "accessor", row, tail } });
  return found.ok && found.value.kind === "token" ? found.value.token.boundCidrs : [];
}

/** The accessor of the token or the secret-id in a wrapping token, which keeps its answer; "" for none. */
async function wrappedAccessor(
  { env, installation }: FindContext,
  { treeId, row, tail }: AccessorCredential,
): Promise<string> {
  const target = { by: "accessor", row, tail } as const;
  const found = await actInTree(env, treeId, { kind: "unwrap", target, take: false, asked: NO_ORIGIN });
  if (!found.ok || found.value.kind !== "wrapped") return "";
  const { token, sealed } = found.value;
  return accessorInside(await openAnswer(installation.keys, token, sealed));
}

export const NO_RECORD =
  "unknown to these data: it ended and its record is kept no longer, or it was made after the backup that they come from";

/** Returns the state of a live token: `refused` because of its entity, or `live`. @param message for `live`. */
export async function standing(
  env: Env,
  entityId: string,
  message: string,
): Promise<Pick<Found, "state" | "message" | "refusal">> {
  const refusal = await entityProblem(env, entityId);
  if (refusal === null) return { state: "live", message };
  return { state: "refused", refusal, message: `This token is ${refusedText(refusal)}. ${AFTERWARDS[refusal]}` };
}

export const refusedText = (refusal: EntityProblem): string => `alive, but refused: ${ENTITY_PROBLEMS[refusal]}`;

/** Whether a token of such an entity can be used again. */
const AFTERWARDS: Readonly<Record<EntityProblem, string>> = {
  disabled: "It can be used again when the entity is enabled.",
  deleted: "It can't be used any more.",
  tampered: "It can't be used as long as the row is there.",
};

const kindOf = ({ policies }: ListedToken) => (policies.includes(RESPONSE_WRAPPING_POLICY) ? "wrapping" : "service");

const LIVE_MESSAGES = {
  service: "This token is alive: anyone who has the text can use it",
  wrapping:
    "This is a wrapping token that has not been unwrapped: anyone who has the text can take what it holds, once",
} as const;

/** The token at this address as lists show it, with its last use; undefined when it is not alive. */
export async function listedAt(env: Env, { treeId, row }: TokenAddress): Promise<ListedToken | undefined> {
  const [entry] = await treeAt(env, treeId).describe([row]);
  const token = entry && { ...entry, id: row };
  return token && (await withLastUses(env, [token]))(token);
}
