import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { CopySource } from "../../../system/copy-source.ts";
import { copyLimits } from "../../../system/snapshot-age.ts";
import type { CloudAccess } from "../clients/open-client.ts";
import type { StsRole } from "../clients/sts-role.ts";
import type { CloudRole } from "../rules/role.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import { beginReading, type CopyOf, copyOf, dropCopy, type KnownPart, keepCopy, type LoginSettings } from "./copies.ts";
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
  readonly settings: KnownPart<"settings"> | null | undefined;
  readonly role: KnownPart<"role"> | null | undefined;
  readonly stsRole: KnownPart<"sts"> | null | undefined;
}

/** Mounts whose sources are remembered in one generation. */
const MAX_SOURCES = 1_000;
/** How the objects of mounts answered lately, by their ids. */
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

async function loadParts({ env, mount }: MountAccess, needed: Needed): Promise<Parts> {
  const { object, source } = objectOf({ env, mount });
  const of: CopyOf = { object, announced: mount.methodState ?? 0, ...copyLimits(env), source };
  const { settings, roleName, accountId } = needed;
  const now = currentTime();
  const known: Known = {
    settings: settings ? copyOf(of, "settings", "", now) : null,
    role: roleName === null ? null : copyOf(of, "role", roleName, now),
    stsRole: accountId === null ? null : copyOf(of, "sts", accountId, now),
  };
  const read = () => readAnew(cloudAuthAt(env, mount), of, source, needed, known, now);
  const copy = wholeCopy(known);
  return copy ? source.serve(copy.oldest.use, copy.oldest, copy.parts, read) : read();
}

/** What is needed from copies alone, with the one of them that has to be read anew first; null when one is lacking. */
function wholeCopy({ settings, role, stsRole }: Known) {
  if (settings === undefined || role === undefined || stsRole === undefined) return null;
  const parts: Parts = { settings: settings?.part ?? null, role: role?.part ?? null, stsRole: stsRole?.part ?? null };
  const copies = [settings, role, stsRole].filter((part) => part !== null);
  const oldest = copies.find(({ use }) => use === "try") ?? copies.find(({ use }) => use === "renew") ?? copies[0];
  return oldest ? { parts, oldest } : null;
}

/** Asks the mount's object for what is lacking or old. */
async function readAnew(
  auth: DurableObjectStub<CloudAuth>,
  of: CopyOf,
  source: CopySource,
  needed: Needed,
  known: Known,
  now: number,
): Promise<Parts> {
  const { roleName, accountId } = needed;
  const [settings, role, stsRole] = [fresh(known.settings), fresh(known.role), fresh(known.stsRole)];
  const reading = beginReading();
  const read = await auth.readForLogin({
    settings: needed.settings && !settings,
    roleName: role ? null : roleName,
    accountId: stsRole ? null : accountId,
  });
  source.noteAnswer(now);
  if (read.settings) keepCopy(of, "settings", "", read.settings, read.state, reading);
  if (!role && roleName !== null) {
    if (read.role) keepCopy(of, "role", roleName, read.role, read.state, reading);
    else dropCopy(of, "role", roleName, reading);
  }
  if (!stsRole && accountId !== null) keepCopy(of, "sts", accountId, read.stsRole, read.state, reading);
  return {
    settings: settings ? settings.part : read.settings,
    role: role ? role.part : read.role,
    stsRole: stsRole ? stsRole.part : read.stsRole,
  };
}

/** A copy that need not be read anew. */
function fresh<P extends KnownPart<"settings" | "role" | "sts">>(known: P | null | undefined): P | null {
  return known?.use === "use" ? known : null;
}

/** The object of a mount as copies go by it. */
interface MountObject {
  readonly object: string;
  readonly source: CopySource;
}

/** The objects of the mounts that the isolate's copy of the installation has. */
const OBJECTS = new WeakMap<CloudAccess["mount"], MountObject>();

function objectOf({ env, mount }: MountAccess): MountObject {
  const known = OBJECTS.get(mount);
  if (known) return known;
  const object = cloudAuthAt(env, mount).id.toString();
  const source = sources.get(object) ?? new CopySource("cloud_mount", { mount: mount.path });
  sources.set(object, source, 1);
  const found = { object, source };
  OBJECTS.set(mount, found);
  return found;
}
