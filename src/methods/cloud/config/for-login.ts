import { currentTime } from "../../../base/clock.ts";
import { snapshotMaxAgeMs } from "../../../system/snapshot-age.ts";
import type { CloudAccess } from "../clients/open-client.ts";
import { cloudAuthAt } from "../mount.ts";
import type { CloudRole } from "../roles/role.ts";
import { beginReading, type CopyOf, copyOf, keepCopy, type LoginSettings } from "./copies.ts";
import type { StsRole } from "./sts-role.ts";

/** The part of a mount's configuration that decides about a login or a renewal. */
export interface LoginConfiguration {
  readonly settings: LoginSettings;
  /** null when there is none of the name, or none was asked for. */
  readonly role: CloudRole | null;
  /** The role to assume for the account; null without one. */
  readonly stsRole: StsRole | null;
}

/**
 * The configuration as this isolate knows it, within POLICY_CACHE_SECONDS of every change. The mount's object is asked once for
 * what the isolate has no copy of: usually for nothing. A role that is not there is asked for every time, as its name could
 * be anything.
 *
 * @param roleName in lower case; null for none. `accountId` likewise.
 */
export async function configurationForLogin(
  { env, mount }: Pick<CloudAccess, "env" | "mount">,
  roleName: string | null,
  accountId: string | null,
): Promise<LoginConfiguration> {
  const of: CopyOf = {
    object: objectIdOf({ env, mount }),
    announced: mount.methodState ?? 0,
    maxAgeMs: snapshotMaxAgeMs(env),
  };
  const now = currentTime();
  const settings = copyOf(of, "settings", "", now);
  const role = roleName === null ? null : copyOf(of, "role", roleName, now);
  const stsRole = accountId === null ? null : copyOf(of, "sts", accountId, now);
  if (settings && role !== undefined && stsRole !== undefined) return { settings, role, stsRole };

  const reading = beginReading(now);
  const read = await cloudAuthAt(env, mount).readForLogin({
    settings: !settings,
    roleName: role === undefined ? roleName : null,
    accountId: stsRole === undefined ? accountId : null,
  });
  if (read.settings) keepCopy(of, "settings", "", read.settings, read.state, reading);
  if (read.role && roleName !== null) keepCopy(of, "role", roleName, read.role, read.state, reading);
  if (stsRole === undefined && accountId !== null) keepCopy(of, "sts", accountId, read.stsRole, read.state, reading);
  const known = settings ?? read.settings;
  if (!known) throw new Error("a mount's object left out the settings");
  return { settings: known, role: role ?? read.role, stsRole: stsRole ?? read.stsRole };
}

/** Ids of the objects of the mounts that the isolate's copy of the installation has. */
const OBJECT_IDS = new WeakMap<CloudAccess["mount"], string>();

function objectIdOf({ env, mount }: Pick<CloudAccess, "env" | "mount">): string {
  const known = OBJECT_IDS.get(mount);
  if (known !== undefined) return known;
  const id = cloudAuthAt(env, mount).id.toString();
  OBJECT_IDS.set(mount, id);
  return id;
}
