import { mountOf, type ReadyContext } from "../../../auth/route.ts";
import { objectNamed } from "../../../base/object-stub.ts";
import { copyLimits } from "../../../system/copy-age.ts";
import type { Mount } from "../../../system/mount.ts";
import { changeAndAnnounce, ownersOfCopies, policyOfCopies } from "../../config-copies.ts";
import { type CloudAccess, type CloudClient, openClient } from "../clients/client.ts";
import { DEFAULT_CLIENT } from "../clients/client-config.ts";
import type { AwsEnv } from "../env.ts";
import { ACCESS_SHARDS, accessShardName, accessShardOf } from "./access-shards.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import {
  forgetCopies,
  type LoginAsk,
  type LoginParts,
  type LoginSettings,
  roleCopies,
  settingsCopies,
  stsRoleCopies,
} from "./login-settings.ts";

/** How a mount is called in a cluster. */
const MOUNT_RULES = {
  repeated: [
    "names",
    "readClient",
    "readIdentity",
    "readTidy",
    "readCertificate",
    "readStsRole",
    "readRole",
    "rolesGiving",
    "readForLogin",
    "configurationState",
    "readDenied",
    "isDenied",
    "refusals",
    "startTidy",
  ],
} as const;

/** The object of a mount. Its name is the uuid of the mount: a method mounted again at the same path begins empty. */
export function cloudAuthAt(env: AwsEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<CloudAuth> {
  return objectNamed(env, env.CLOUD_AUTH, mount.uuid, MOUNT_RULES);
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

const ownerOf = ownersOfCopies("cloud_mount");

/** Reads the parts of a configuration that are asked for in one turn with one call. */
class PartReader {
  readonly #auth: DurableObjectStub<CloudAuth>;
  #next: { ask: LoginAsk; readonly answer: Promise<LoginParts> } | null = null;

  constructor(auth: DurableObjectStub<CloudAuth>) {
    this.#auth = auth;
  }

  read(part: Partial<LoginAsk>): Promise<LoginParts> {
    this.#next ??= { ask: { settings: false, roleName: null, accountId: null }, answer: this.#send() };
    this.#next.ask = { ...this.#next.ask, ...part };
    return this.#next.answer;
  }

  async #send(): Promise<LoginParts> {
    // All parts of this turn are asked for first.
    await null;
    const ask = this.#next?.ask;
    this.#next = null;
    if (!ask) throw new Error("a call without a part");
    return this.#auth.readForLogin(ask);
  }
}

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
  const { uuid } = mount;
  const owner = ownerOf(mount);
  const policy = policyOfCopies(mount.methodState ?? 0, copyLimits(env));
  const reader = new PartReader(cloudAuthAt(env, mount));
  const readSettings = async () => {
    const { settings, state } = await reader.read({ settings: true });
    if (!settings) throw new Error("a mount's object left out the settings");
    return { part: settings, state };
  };
  const readRole = async () => {
    const { role, state } = await reader.read({ roleName });
    return role ? { part: role, state } : undefined;
  };
  const readStsRole = async () => {
    const { stsRole, state } = await reader.read({ accountId });
    return { part: stsRole, state };
  };
  const [settings, role, stsRole] = await Promise.all([
    has ? { part: has } : settingsCopies.load(uuid, policy, readSettings, owner),
    roleName === null ? null : roleCopies.load(`${uuid} ${roleName}`, policy, readRole, owner),
    accountId === null ? null : stsRoleCopies.load(`${uuid} ${accountId}`, policy, readStsRole, owner),
  ]);
  return { settings: settings.part, role: role?.part ?? null, stsRole: stsRole?.part ?? null };
}

/** Changes a configuration of which isolates keep copies, see `changeAndAnnounce`. */
export async function changeConfiguration<P>(
  context: ReadyContext,
  change: (auth: DurableObjectStub<CloudAuth>) => P,
): Promise<Awaited<P>> {
  const auth = cloudAuthOf(context);
  return changeAndAnnounce(context.env, mountOf(context), auth, forgetCopies, () => change(auth));
}

/** The shard of a mount with the logins of an instance, and its place. */
export function accessShardFor(env: AwsEnv, mount: Pick<Mount, "uuid">, instanceId: string) {
  const shard = accessShardOf(instanceId);
  return { list: shardAt(env, mount, shard), place: { mount: mount.uuid, shard } };
}

export function accessShardsOf(env: AwsEnv, mount: Pick<Mount, "uuid">) {
  return Array.from({ length: ACCESS_SHARDS }, (_, shard) => shardAt(env, mount, shard));
}

/** How a shard of the access list is called in a cluster. */
const LIST_RULES = {
  repeated: ["judgeLogin", "undoLogin", "extend", "read", "list", "startTidy"],
} as const;

function shardAt(env: AwsEnv, { uuid }: Pick<Mount, "uuid">, shard: number) {
  return objectNamed(env, env.CLOUD_ACCESS_LIST, accessShardName(uuid, shard), LIST_RULES);
}
