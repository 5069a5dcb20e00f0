import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { type CopyUse, copyLimits } from "../../../system/copy-age.ts";
import { CopySource } from "../../../system/copy-source.ts";
import type { CloudAccess } from "../clients/client.ts";
import type { StsRole } from "../clients/config.ts";
import type { CloudRole } from "../rules/role.ts";
import {
  type CopyOf,
  type KnownPart,
  type LoginSettings,
  ROLE_COPIES,
  SETTINGS_COPIES,
  STS_ROLE_COPIES,
} from "./copies.ts";
import { cloudAuthAt } from "./mount.ts";

/** The part of a mount's configuration that decides about a login or a renewal. */
export interface LoginConfiguration {
  readonly settings: LoginSettings;
  /** null when there is none of the name, or none was asked for. */
  readonly role: CloudRole | null;
  /** The role to assume for the account; null without one. */
  readonly stsRole: StsRole | null;
}

type MountAccess = Pick<CloudAccess, "env" | "mount">;

/** What is needed of the configuration: the settings, a role by its name, in lower case, and the role to assume for an account. */
interface Needed {
  readonly settings: boolean;
  readonly roleName: string | null;
  readonly accountId: string | null;
}

/** The parts that were needed; null for another one, and for one that is not there. */
interface Parts {
  readonly settings: LoginSettings | null;
  readonly role: CloudRole | null;
  readonly stsRole: StsRole | null;
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
 */
export async function configurationForLogin(
  access: MountAccess,
  roleName: string | null,
  accountId: string | null,
): Promise<LoginConfiguration> {
  const { settings, ...roles } = await loadParts(access, { settings: true, roleName, accountId });
  if (!settings) throw new Error("a mount's object left out the settings");
  return { settings, ...roles };
}

/** The same without the settings, for a login that has them already. */
export async function rolesForLogin(
  access: MountAccess,
  roleName: string | null,
  accountId: string,
): Promise<Omit<LoginConfiguration, "settings">> {
  return loadParts(access, { settings: false, roleName, accountId });
}

async function loadParts(access: MountAccess, needed: Needed): Promise<Parts> {
  const { mount } = access;
  const source = sources.get(mount.uuid) ?? new CopySource("cloud_mount", { mount: mount.path });
  sources.set(mount.uuid, source, 1);
  const of: CopyOf = { mount: mount.uuid, announced: mount.methodState ?? 0, ...copyLimits(access.env), source };
  const { settings, roleName, accountId } = needed;
  const now = currentTime();
  const known: Known = {
    settings: settings ? SETTINGS_COPIES.find(of, "", now) : null,
    role: roleName === null ? null : ROLE_COPIES.find(of, roleName, now),
    stsRole: accountId === null ? null : STS_ROLE_COPIES.find(of, accountId, now),
  };
  const read = async () => {
    const parts = await readAnew(access, of, needed, known);
    source.noteAnswer(now);
    return parts;
  };
  const copy = wholeCopy(known);
  return copy ? source.serve(copy.oldest.use, copy.oldest, copy.parts, read) : read();
}

/** What is needed from copies alone, with the one of them that has to be read again first; null when one is lacking. */
function wholeCopy({ settings, role, stsRole }: Known) {
  if (settings === undefined || role === undefined || stsRole === undefined) return null;
  const parts: Parts = { settings: settings?.part ?? null, role: role?.part ?? null, stsRole: stsRole?.part ?? null };
  const copies = [settings, role, stsRole].filter((part) => part !== null);
  const oldest = copies.find(({ use }) => use === "try") ?? copies.find(({ use }) => use === "renew") ?? copies[0];
  return oldest ? { parts, oldest } : null;
}

/** Asks the mount's object for what is lacking or old. */
async function readAnew({ env, mount }: MountAccess, of: CopyOf, needed: Needed, known: Known): Promise<Parts> {
  const [settings, role, stsRole] = [fresh(known.settings), fresh(known.role), fresh(known.stsRole)];
  const roleName = role ? null : needed.roleName;
  const accountId = stsRole ? null : needed.accountId;
  const keepSettings = SETTINGS_COPIES.begin(of, "");
  const keepRole = ROLE_COPIES.begin(of, roleName ?? "");
  const keepStsRole = STS_ROLE_COPIES.begin(of, accountId ?? "");
  const ask = { settings: needed.settings && !settings, roleName, accountId };
  const read = await cloudAuthAt(env, mount).readForLogin(ask);
  if (read.settings) keepSettings(read.settings, read.state);
  if (roleName !== null) keepRole(read.role ?? undefined, read.state);
  if (accountId !== null) keepStsRole(read.stsRole, read.state);
  return {
    settings: settings ? settings.part : read.settings,
    role: role ? role.part : read.role,
    stsRole: stsRole ? stsRole.part : read.stsRole,
  };
}

/** A copy that need not be read again. */
function fresh<P extends { readonly use: CopyUse }>(known: P | null | undefined): P | null {
  return known?.use === "use" ? known : null;
}
