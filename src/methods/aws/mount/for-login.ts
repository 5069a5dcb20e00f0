import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { type CopyUse, copyLimits } from "../../../system/copy-age.ts";
import { CopySource } from "../../../system/copy-source.ts";
import type { CloudAccess } from "../clients/client.ts";
import type { StsRole } from "../clients/config.ts";
import type { CloudRole } from "../rules/role.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import {
  type CopyOf,
  type KnownPart,
  type LoginSettings,
  ROLE_COPIES,
  SETTINGS_COPIES,
  STS_ROLE_COPIES,
} from "./copies.ts";
import { cloudAuthAt } from "./mount.ts";
import type { LoginAsk, LoginParts } from "./store.ts";

/** The part of a mount's configuration that decides about a login or a renewal. */
interface LoginConfiguration extends Omit<LoginParts, "state"> {
  readonly settings: LoginSettings;
}

/** Copies of what is needed; undefined for one that is lacking, null for what is not needed. */
interface Known {
  readonly settings: KnownPart<LoginSettings> | null | undefined;
  readonly role: KnownPart<CloudRole> | null | undefined;
  readonly stsRole: KnownPart<StsRole | null> | null | undefined;
}

/** Mounts whose sources are remembered in one generation. */
const MAX_SOURCES = 1_000;
/** How the objects of mounts answered lately, by the uuids of the mounts. */
const sources = new GenerationalCache<string, CopySource>(MAX_SOURCES);

/**
 * The configuration as this isolate knows it, within POLICY_CACHE_SECONDS of every change; POLICY_GRACE_SECONDS later while the
 * mount's object does not answer. The object is asked once for what the isolate has no copy of: usually for nothing. A role
 * that is not there is asked for every time, as its name could be anything.
 *
 * @param roleName in lower case; null for none. `accountId` likewise.
 * @param has the settings that a login has already; null for none.
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
  const known: Known = {
    settings: has ? null : SETTINGS_COPIES.find(of, "", now),
    role: roleName === null ? null : ROLE_COPIES.find(of, roleName, now),
    stsRole: accountId === null ? null : STS_ROLE_COPIES.find(of, accountId, now),
  };
  const read = async () => {
    const parts = await readAnew(cloudAuthAt(env, mount), of, { settings: !has, roleName, accountId }, known);
    source.noteAnswer(now);
    return withSettings(has ?? parts.settings, parts);
  };
  const { settings, role, stsRole } = known;
  if (settings === undefined || role === undefined || stsRole === undefined) return read();
  const copies = [settings, role, stsRole].filter((part) => part !== null);
  const oldest = copies.find(({ use }) => use === "try") ?? copies.find(({ use }) => use === "renew") ?? copies[0];
  if (!oldest) return read();
  const copied = { role: role?.part ?? null, stsRole: stsRole?.part ?? null };
  return source.serve(oldest.use, oldest, withSettings(has ?? settings?.part, copied), read);
}

function withSettings(
  settings: LoginSettings | null | undefined,
  { role, stsRole }: Omit<LoginConfiguration, "settings">,
): LoginConfiguration {
  if (!settings) throw new Error("a mount's object left out the settings");
  return { settings, role, stsRole };
}

/** Asks the mount's object for what is lacking or old of what is needed. */
async function readAnew(
  auth: DurableObjectStub<CloudAuth>,
  of: CopyOf,
  needed: LoginAsk,
  known: Known,
): Promise<Omit<LoginParts, "state">> {
  const [settings, role, stsRole] = [fresh(known.settings), fresh(known.role), fresh(known.stsRole)];
  const roleName = role ? null : needed.roleName;
  const accountId = stsRole ? null : needed.accountId;
  const keepSettings = SETTINGS_COPIES.begin(of, "");
  const keepRole = ROLE_COPIES.begin(of, roleName ?? "");
  const keepStsRole = STS_ROLE_COPIES.begin(of, accountId ?? "");
  const read = await auth.readForLogin({ settings: needed.settings && !settings, roleName, accountId });
  if (read.settings) keepSettings(read.settings, read.state);
  if (roleName !== null) keepRole(read.role ?? undefined, read.state);
  if (accountId !== null) keepStsRole(read.stsRole, read.state);
  return {
    settings: settings?.part ?? read.settings,
    role: role?.part ?? read.role,
    stsRole: stsRole?.part ?? read.stsRole,
  };
}

/** A copy that need not be read again. */
function fresh<P extends { readonly use: CopyUse }>(known: P | null | undefined): P | null {
  return known?.use === "use" ? known : null;
}
