import { currentTime } from "../base/clock.ts";
import type { LocationHint } from "../base/location.ts";
import { err, invalid, ok, type Result, unavailable } from "../base/result.ts";
import type { Env } from "../env.ts";
import { noteChange } from "../listing/updates/recent.ts";
import { mayContain } from "../system/custom-id-filter.ts";
import { type Installation, refreshInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { sealBatchToken } from "../token/batch.ts";
import { treeOf } from "../token/find-tree.ts";
import {
  customIdHashes,
  MAX_ROW_ATTEMPTS,
  type NewTokenIds,
  newTokenIds,
  rowGeneratedAt,
  type TokenAddress,
} from "../token/ids.ts";
import type { TokenSpec } from "../token/record.ts";
import { customIdsOf } from "../tree/custom-ids.ts";
import { startTree } from "../tree/supply/start-tree.ts";
import type { AuthReply } from "../wire/reply.ts";
import { forgetCustomId } from "./custom-id-tokens.ts";
import { authOfBatch, authOfToken } from "./render.ts";

/** Longest time between reserving a custom id and writing its token, with a wide margin. */
const RESERVATION_MS = 60_000;

/** Messages of the reference's auth/token/create. */
const DUPLICATE_ID = invalid("cannot create a token with a duplicate ID");
const PARENT_GONE = invalid("parent token not found");
const NO_ROW = unavailable("the token could not be stored; try again");

/**
 * Makes a token that the rules allow and that its creator's tree did not make in the step that allowed it: a batch token,
 * the first token of a new tree, or a child for which something outside the tree came first.
 *
 * @param creator the parent, unless it is an orphan.
 * @param customId "" for a generated token.
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

/** A custom id that is taken in the directory for an address before a token is written there. */
interface CustomId {
  readonly text: string;
  reserve(address: TokenAddress): Promise<Result<null>>;
  release(address: TokenAddress): Promise<void>;
}

/** Creates a child in the tree of its parent. Generates another row number when the first one is taken. */
async function addChild(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  parent: TokenAddress,
  customId?: CustomId,
): Promise<Result<AuthReply>> {
  let above = 0;
  for (let draw = 1; draw <= MAX_ROW_ATTEMPTS; draw++) {
    const ids = await newTokenIds(installation.keys, parent.treeId, currentTime(), customId?.text, above);
    const address = { treeId: parent.treeId, row: ids.row };
    const reserved = await customId?.reserve(address);
    if (reserved?.ok === false) return reserved;
    const added = await insert(env, spec, ids, parent);
    if (!("above" in added) && added.ok) return added;
    await customId?.release(address);
    if (!("above" in added)) return added;
    above = added.above;
  }
  return err(NO_ROW);
}

/** One attempt to write a child; with `above` it failed, and the next needs a greater row. */
async function insert(
  env: Env,
  spec: TokenSpec,
  ids: NewTokenIds,
  parent: TokenAddress,
): Promise<Result<AuthReply> | { readonly above: number }> {
  const inserted = await treeOf(env, parent.treeId)?.insert(spec, ids, parent.row);
  noteChange(parent.treeId, currentTime());
  if (!inserted?.ok) return inserted?.error.code === "unavailable" ? inserted : err(PARENT_GONE);
  if (inserted.value.kind === "row_taken") return { above: inserted.value.above };
  return inserted.value.kind === "created" ? ok(authOfToken(inserted.value.token, ids.token)) : err(PARENT_GONE);
}

/** The location hint for the tree of an orphan: that of its spec, or of the token mount when no login made it. */
function locationOf(installation: Installation, spec: TokenSpec): LocationHint | undefined {
  return spec.location ?? (spec.record.login ? undefined : installation.mountAt("token/")?.config.locationHint);
}

/**
 * The directory takes the id first, so two creations of one id can't both succeed; then every isolate learns to ask the
 * directory; then the tree writes the token. After a crash in between the id leads to a row that does not exist, which
 * the next creation of the same id finds out and replaces.
 */
async function issueWithCustomId(
  env: Env,
  installation: Installation,
  spec: TokenSpec,
  parent: TokenAddress | null,
  customId: string,
): Promise<Result<AuthReply>> {
  const [{ filterKey, directoryKey }, ...older] = await customIdHashes(installation.keys, customId, currentTime());
  // A token with this id may still be stored under the hash of an older term.
  for (const hash of older) {
    if (mayContain(installation.customIdFilter, hash.filterKey) && (await leadsToLiveToken(env, hash.directoryKey))) {
      return err(DUPLICATE_ID);
    }
  }
  const keyed: TokenSpec = { ...spec, record: { ...spec.record, customIdKey: directoryKey } };
  const reserve = async (address: TokenAddress): Promise<Result<null>> => {
    if (!(await takeEntry(env, directoryKey, address))) return err(DUPLICATE_ID);
    await systemOf(env).admitCustomId(filterKey);
    forgetCustomId(customId);
    const refreshed = await refreshInstallation(env);
    return refreshed.ok ? ok(null) : refreshed;
  };
  const release = (address: TokenAddress) =>
    customIdsOf(env, directoryKey).release([{ key: directoryKey, ...address }]);
  if (parent) return addChild(env, installation, keyed, parent, { text: customId, reserve, release });
  let reserved: TokenAddress | null = null;
  const prepare = async (address: TokenAddress) => {
    // The tree before was taken.
    if (reserved) await release(reserved);
    reserved = address;
    const done = await reserve(address);
    return done.ok ? ok([]) : done;
  };
  const location = locationOf(installation, spec);
  const started = await startTree(env, installation.keys, keyed, { customId, prepare, location });
  if (started.ok) return ok(authOfToken(started.value.token, customId));
  // Else the client that tries again would be refused: the id would count as taken for a minute.
  if (reserved) await release(reserved);
  return started;
}

/** True when the directory has the key and its token is alive. */
async function leadsToLiveToken(env: Env, key: string): Promise<boolean> {
  const held = await customIdsOf(env, key).find(key);
  return held !== null && (await treeOf(env, held.treeId)?.rowStatus(held.row)) === "alive";
}

/**
 * Takes the directory entry. An entry gives way when its tree says that the token has ended. A row that is not there may
 * still be on its way from a creation at the same moment, so it has to be of some age to count as left by a crash.
 */
async function takeEntry(env: Env, key: string, address: TokenAddress): Promise<boolean> {
  const directory = customIdsOf(env, key);
  const held = await directory.reserve(key, address, null);
  if (!held) return true;
  const fate = (await treeOf(env, held.treeId)?.rowStatus(held.row)) ?? "absent";
  const young = currentTime() - rowGeneratedAt(held.row) < RESERVATION_MS;
  if (fate === "alive" || (fate === "absent" && young)) return false;
  return (await directory.reserve(key, address, held)) === null;
}
