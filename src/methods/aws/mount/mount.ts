import { mountOf, type ReadyContext } from "../../../auth/route.ts";
import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { within } from "../../../base/location.ts";
import { CopySource, copyLimits } from "../../../system/copy-age.ts";
import type { Mount } from "../../../system/mount.ts";
import { systemOf } from "../../../system/system.ts";
import { type CloudAccess, type CloudClient, openClient } from "../clients/client.ts";
import { DEFAULT_CLIENT } from "../clients/config.ts";
import type { AwsEnv } from "../env.ts";
import { ACCESS_SHARDS, accessShardName, accessShardOf } from "./access-shards.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import {
  beginReading,
  type CopyOf,
  findCopy,
  forgetCopies,
  keepCopy,
  type LoginAsk,
  type LoginParts,
  type LoginSettings,
  type SomeParts,
} from "./copies.ts";

/** The object of a mount. Its name is the uuid of the mount: a method mounted again at the same path begins empty. */
export function cloudAuthAt(env: AwsEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<CloudAuth> {
  return within(env, env.CLOUD_AUTH).getByName(mount.uuid);
}

/** The object of a request's mount. */
export function cloudAuthOf(context: ReadyContext): DurableObjectStub<CloudAuth> {
  return cloudAuthAt(context.env, mountOf(context));
}

/** The client of a mount with its stored configuration. Requests of operators never use an isolate's copy of it. */
export async function operatorClient(access: CloudAccess): Promise<CloudClient> {
  const config = await cloudAuthAt(access.env, access.mount).readClient();
  return openClient(access, config ?? DEFAULT_CLIENT);
}

type LoginConfiguration = Omit<LoginParts, "state"> & { readonly settings: LoginSettings };

/** Recent answers of the objects of mounts, by the uuids of the mounts. */
const sources = new GenerationalCache<string, CopySource>(1_000);

const roleCopy = (name: string) => `role ${name}`;
const accountCopy = (id: string) => `account ${id}`;

/**
 * The configuration from this isolate's copies. Every change takes effect within POLICY_CACHE_SECONDS; while the
 * mount's object does not answer, within POLICY_GRACE_SECONDS more. One call to the object reads what has no copy,
 * usually nothing. A role that does not exist is asked for each time, as a client can send any name. `has` are the
 * settings that the login has read already; null for none.
 */
export async function configurationForLogin(
  { env, mount }: Pick<CloudAccess, "env" | "mount">,
  roleName: string | null,
  accountId: string | null,
  has: LoginSettings | null = null,
): Promise<LoginConfiguration> {
  const source = sources.get(mount.uuid) ?? new CopySource("cloud_mount", { mount: mount.path });
  sources.set(mount.uuid, source, 1);
  const of: CopyOf = { mount: mount.uuid, announced: mount.methodState ?? 0, ...copyLimits(env), source };
  const now = currentTime();
  const settings = has ? null : findCopy(of, "settings", now);
  const role = roleName === null ? null : findCopy(of, roleCopy(roleName), now);
  const stsRole = accountId === null ? null : findCopy(of, accountCopy(accountId), now);
  const found = [settings, role, stsRole].filter((copy) => copy != null);
  // Undefined: the part has no copy that may be used. Null: it is not needed.
  const mustRead = (copy: (typeof found)[number] | null | undefined) => copy !== null && copy?.use !== "use";

  const read = async () => {
    const ask = {
      settings: mustRead(settings),
      roleName: mustRead(role) ? roleName : null,
      accountId: mustRead(stsRole) ? accountId : null,
    };
    const fresh = found.filter(({ use }) => use === "use").map(({ part }) => part);
    const parts = await readParts(cloudAuthAt(env, mount), of, ask);
    source.noteAnswer(now);
    return join(has, [...fresh, ...parts]);
  };
  const oldest = found.find(({ use }) => use === "try") ?? found.find(({ use }) => use === "renew") ?? found[0];
  if (!oldest || [settings, role, stsRole].includes(undefined)) return read();
  const parts = found.map(({ part }) => part);
  return source.serve(oldest.use, oldest, join(has, parts), read);
}

/** Reads parts from the mount's object and keeps copies of them. */
async function readParts(auth: DurableObjectStub<CloudAuth>, of: CopyOf, ask: LoginAsk): Promise<SomeParts[]> {
  const reading = beginReading();
  const { state, settings, role, stsRole } = await auth.readForLogin(ask);
  const parts: [name: string, part: SomeParts][] = [];
  if (ask.settings) parts.push(["settings", { settings }]);
  if (ask.roleName !== null) parts.push([roleCopy(ask.roleName), { role }]);
  if (ask.accountId !== null) parts.push([accountCopy(ask.accountId), { stsRole }]);
  for (const [name, part] of parts) keepCopy(of, name, part.role === null ? undefined : part, state, reading);
  return parts.map(([, part]) => part);
}

function join(has: LoginSettings | null, parts: readonly SomeParts[]): LoginConfiguration {
  const { settings = has, role = null, stsRole = null }: SomeParts = Object.assign({}, ...parts);
  if (!settings) throw new Error("a mount's object left out the settings");
  return { settings, role, stsRole };
}

/**
 * Changes a configuration of which isolates keep copies, and announces the change before it is answered. It takes
 * effect here at once, and in other isolates within POLICY_CACHE_SECONDS. After a crash in between, the change is not
 * acknowledged and takes effect in other isolates within a minute.
 */
export async function changeConfiguration<P>(
  context: ReadyContext,
  change: (auth: DurableObjectStub<CloudAuth>) => P,
): Promise<Awaited<P>> {
  const auth = cloudAuthOf(context);
  try {
    return await change(auth);
  } finally {
    // Also after a failure: the object may have made the change before its answer was lost.
    forgetCopies();
    await systemOf(context.env).announceMethodState(mountOf(context).uuid, await auth.configurationState());
  }
}

/** The shard of a mount with the logins of an instance, and its place. */
export function accessShardFor(env: AwsEnv, mount: Pick<Mount, "uuid">, instanceId: string) {
  const shard = accessShardOf(instanceId);
  return { list: shardAt(env, mount, shard), place: { mount: mount.uuid, shard } };
}

/** All shards of a mount. */
export function accessShardsOf(env: AwsEnv, mount: Pick<Mount, "uuid">) {
  return Array.from({ length: ACCESS_SHARDS }, (_, shard) => shardAt(env, mount, shard));
}

function shardAt(env: AwsEnv, { uuid }: Pick<Mount, "uuid">, shard: number) {
  return within(env, env.CLOUD_ACCESS_LIST).getByName(accessShardName(uuid, shard));
}
