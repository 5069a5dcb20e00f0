import { currentTime } from "../base/clock.ts";
import type { LocationHint } from "../base/location.ts";
import { err, invalid, ok, type Result, unavailable } from "../base/result.ts";
import type { Env } from "../env.ts";
import { noteChange } from "../listing/updates/publish.ts";
import { mayContain } from "../system/custom-id-list.ts";
import { type Installation, refreshInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { sealBatchToken } from "../token/batch.ts";
import {
  customIdHashes,
  isSameAddress,
  MAX_ROW_ATTEMPTS,
  newTokenIds,
  rowGeneratedAt,
  type TokenAddress,
} from "../token/ids.ts";
import type { TokenSpec } from "../token/record.ts";
import { treeAt } from "../token/tree-stub.ts";
import { customIdsOf, RESERVATION_MS } from "../tree/custom-ids.ts";
import { startTree } from "../tree/supply/start-tree.ts";
import type { AuthReply } from "../wire/reply.ts";
import { forgetCustomId } from "./read-token.ts";
import { authOfBatch, authOfToken } from "./token-answer.ts";

/** Messages of the reference's auth/token/create. */
const DUPLICATE_ID = invalid("cannot create a token with a duplicate ID");
const PARENT_GONE = invalid("parent token not found");
const NO_ROW = unavailable("the token could not be stored; try again");

/**
 * Issues a planned token that the creator's tree did not write when it authorized the request: a batch token, the first
 * token of a new tree, or a child that needs a write outside the tree first (a custom id, the entity of an alias).
 * `creator` is the parent unless the token is an orphan, null for a login or a root token; `customId` "" generates one.
 */
export async function issue(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  creator: TokenAddress | null,
  customId: string,
): Promise<Result<AuthReply>> {
  const parent = spec.orphan ? null : creator;
  if (spec.type === "batch") {
    const text = await sealBatchToken(installation.keys, spec, parent && { treeId: parent.treeId, row: parent.row });
    return text.ok ? ok(authOfBatch(spec.record, parent === null, text.value)) : text;
  }
  if (customId !== "") return issueWithCustomId(env, installation, spec, parent, customId);
  if (parent) return addChild(env, installation, spec, parent);
  const started = await startTree(env, installation.keys, spec, { location: locationOf(installation, spec) });
  return started.ok ? ok(authOfToken(started.value.token, started.value.ids.token)) : started;
}

/** Finds the parent of the token of a login. `again`: the parent of the last answer has ended. */
export type ParentOfLogin = (again: boolean) => Promise<Result<TokenAddress>>;

/** Issues the planned token of a login below another token. */
export async function issueBelow(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  find: ParentOfLogin,
): Promise<Result<AuthReply>> {
  let issued: Result<AuthReply> = err(PARENT_GONE);
  for (const again of [false, true]) {
    const parent = await find(again);
    if (!parent.ok) return parent;
    // A batch token is not stored, so no write in the tree checks that its parent is alive.
    const { treeId, row } = parent.value;
    const isGone = spec.type === "batch" && !(await treeAt(env, treeId).isAlive(row));
    issued = isGone ? err(PARENT_GONE) : await issue(env, installation, { ...spec, orphan: false }, parent.value, "");
    if (issued.ok || issued.error !== PARENT_GONE) return issued;
  }
  return issued;
}

/** Creates a child in its parent's tree, with another row number if one was taken. A custom id is reserved first. */
async function addChild(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  parent: TokenAddress,
  customId?: {
    readonly text: string;
    reserve(address: TokenAddress): Promise<Result<null>>;
    release(address: TokenAddress): Promise<void>;
  },
): Promise<Result<AuthReply>> {
  let above = 0;
  for (let attempt = 1; attempt <= MAX_ROW_ATTEMPTS; attempt++) {
    const ids = await newTokenIds(installation.keys, parent.treeId, currentTime(), customId?.text, above);
    const address = { treeId: parent.treeId, row: ids.row };
    const reserved = await customId?.reserve(address);
    if (reserved?.ok === false) return reserved;
    const inserted = await treeAt(env, parent.treeId).insert(spec, ids, parent.row);
    noteChange(parent.treeId, currentTime());
    if (inserted.ok && inserted.value.kind === "created") return ok(authOfToken(inserted.value.token, ids.token));
    await customId?.release(address);
    if (!inserted.ok) return inserted.error.code === "unavailable" ? inserted : err(PARENT_GONE);
    if (inserted.value.kind !== "row_taken") return err(PARENT_GONE);
    above = inserted.value.above;
  }
  return err(NO_ROW);
}

/** Returns the location hint for the tree of an orphan: the spec's, or the token mount's when no login creates it. */
function locationOf(installation: Installation, spec: TokenSpec): LocationHint | undefined {
  return spec.location ?? (spec.record.login ? undefined : installation.mountAt("token/")?.config.locationHint);
}

/**
 * Issues a token with a custom id. First the directory reserves the id, so two creations of one id can't both succeed.
 * Then the id is added to the list, without which isolates do not look it up in the directory. Then the tree writes
 * the token. After a crash in between, the entry leads to a row that does not exist, and the next creation with the
 * same id replaces it.
 */
async function issueWithCustomId(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  parent: TokenAddress | null,
  customId: string,
): Promise<Result<AuthReply>> {
  const [{ whole, directoryKey }, ...older] = await customIdHashes(installation.keys, customId, currentTime());
  // A token with this id may be stored under a hash with a key of an older term.
  for (const hash of older) {
    if (mayContain(installation.customIdList, hash.whole) && (await leadsToLiveToken(env, hash.directoryKey))) {
      return err(DUPLICATE_ID);
    }
  }
  const keyed: TokenSpec = { ...spec, record: { ...spec.record, customIdKey: directoryKey } };
  const reserve = async (address: TokenAddress): Promise<Result<null>> => {
    if (!(await takeEntry(env, directoryKey, address))) return err(DUPLICATE_ID);
    await systemOf(env).admitCustomId(whole);
    forgetCustomId(customId);
    const refreshed = await refreshInstallation(env);
    return refreshed.ok ? ok(null) : refreshed;
  };
  const release = (address: TokenAddress) =>
    customIdsOf(env, directoryKey).release([{ key: directoryKey, ...address }]);
  if (parent) return addChild(env, installation, keyed, parent, { text: customId, reserve, release });
  let reserved: TokenAddress | null = null;
  const prepare = async (address: TokenAddress) => {
    // The id of the previous attempt's tree was taken.
    if (reserved) await release(reserved);
    reserved = address;
    const done = await reserve(address);
    return done.ok ? ok([]) : done;
  };
  const location = locationOf(installation, spec);
  const started = await startTree(env, installation.keys, keyed, { customId, prepare, location });
  if (started.ok) return ok(authOfToken(started.value.token, customId));
  // Otherwise a retry of the client would be refused: the id would count as taken for RESERVATION_MS.
  if (reserved) await release(reserved);
  return started;
}

async function leadsToLiveToken(env: Env, key: string): Promise<boolean> {
  const held = await customIdsOf(env, key).find(key);
  return held !== null && (await treeAt(env, held.treeId).rowStatus(held.row)) === "alive";
}

/**
 * Reserves the directory entry; false when a token holds it. An existing entry is replaced when its tree reports that
 * the token has ended. A row that is absent may still be written by a concurrent creation, so it counts as left behind
 * by a crash only after RESERVATION_MS.
 */
async function takeEntry(env: Env, key: string, address: TokenAddress): Promise<boolean> {
  const directory = customIdsOf(env, key);
  const held = await directory.reserve(key, address, null);
  // An earlier attempt at an object of 1.0.0-rc.1 has reserved it.
  if (!held || isSameAddress(held, address)) return true;
  const young = currentTime() - rowGeneratedAt(held.row) < RESERVATION_MS;
  const fate = await treeAt(env, held.treeId).rowStatus(held.row);
  if (fate === "alive" || (fate === "absent" && young)) return false;
  return (await directory.reserve(key, address, held)) === null;
}
