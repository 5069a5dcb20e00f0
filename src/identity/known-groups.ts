import { waitUntil } from "cloudflare:workers";
import { IsolateCopy } from "../base/isolate-copy.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { identityOf } from "./directory/stub.ts";
import type { IdentityEnv } from "./env.ts";
import { Groups } from "./groups.ts";

/** All groups as this isolate knows them, under one key. */
const copies = new IsolateCopy<"groups", Groups>(1);

/** All groups, no older than `maxAgeMs`: POLICY_CACHE_SECONDS unless given. */
export async function loadGroups(env: IdentityEnv, maxAgeMs = snapshotMaxAgeMs(env)): Promise<Groups> {
  const read = async () => {
    const before = copies.copied("groups")?.value;
    const answer = await identityOf(env).allGroups(before?.revision ?? null);
    return answer ? new Groups(answer) : before;
  };
  const groups = await copies.load("groups", maxAgeMs, read, waitUntil);
  if (!groups) throw new Error("the directory answered nothing to an isolate that knows nothing");
  return groups;
}

/** Makes this isolate read all groups anew. */
export function forgetGroups(): void {
  copies.clear();
}
