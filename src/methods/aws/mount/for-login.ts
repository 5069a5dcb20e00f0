import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { CopySource, copyLimits } from "../../../system/copy-age.ts";
import type { CloudAccess } from "../clients/client.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import {
  beginReading,
  type CopyOf,
  findCopy,
  type KnownPart,
  keepCopy,
  type LoginAsk,
  type LoginParts,
  type LoginSettings,
  type SomeParts,
} from "./copies.ts";
import { cloudAuthAt } from "./mount.ts";

/** The part of a mount's configuration that decides about a login or a renewal. */
interface LoginConfiguration extends Omit<LoginParts, "state"> {
  readonly settings: LoginSettings;
}

/** Maximum number of sources in one generation. */
const MAX_SOURCES = 1_000;
/** Recent answers of the objects of mounts, by the uuids of the mounts. */
const sources = new GenerationalCache<string, CopySource>(MAX_SOURCES);

const SETTINGS = "settings";
const roleCopy = (name: string) => `role ${name}`;
const accountCopy = (id: string) => `account ${id}`;

/**
 * The configuration from this isolate's copies. Every change takes effect within POLICY_CACHE_SECONDS; while the
 * mount's object does not answer, within POLICY_GRACE_SECONDS more. One call to the object reads what has no copy,
 * usually nothing. A role that does not exist is asked for each time, as a client can send any name.
 *
 * @param roleName in lower case; null for none. `accountId` likewise.
 * @param has the settings that the login has read already; null for none.
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
  const settings = has ? null : findCopy(of, SETTINGS, now);
  const role = roleName === null ? null : findCopy(of, roleCopy(roleName), now);
  const stsRole = accountId === null ? null : findCopy(of, accountCopy(accountId), now);
  const copies = [settings, role, stsRole].filter((copy) => copy != null);

  const read = async () => {
    const ask = {
      settings: mustRead(settings),
      roleName: mustRead(role) ? roleName : null,
      accountId: mustRead(stsRole) ? accountId : null,
    };
    const fresh = copies.filter(({ use }) => use === "use").map(({ part }) => part);
    const parts = await readParts(cloudAuthAt(env, mount), of, ask);
    source.noteAnswer(now);
    return join(has, [...fresh, ...parts]);
  };
  const oldest = copies.find(({ use }) => use === "try") ?? copies.find(({ use }) => use === "renew") ?? copies[0];
  if (!oldest || [settings, role, stsRole].includes(undefined)) return read();
  const copied = join(
    has,
    copies.map(({ part }) => part),
  );
  return source.serve(oldest.use, oldest, copied, read);
}

/** True when a part has no copy (undefined), or an old one. Null: the part is not needed. */
function mustRead(copy: KnownPart | null | undefined): boolean {
  return copy !== null && copy?.use !== "use";
}

/** Reads parts from the mount's object and keeps copies of them. */
async function readParts(auth: DurableObjectStub<CloudAuth>, of: CopyOf, ask: LoginAsk): Promise<SomeParts[]> {
  const reading = beginReading();
  const { state, settings, role, stsRole } = await auth.readForLogin(ask);
  const parts: [name: string, part: SomeParts][] = [];
  if (ask.settings) parts.push([SETTINGS, { settings }]);
  if (ask.roleName !== null) parts.push([roleCopy(ask.roleName), { role }]);
  if (ask.accountId !== null) parts.push([accountCopy(ask.accountId), { stsRole }]);
  for (const [name, part] of parts) keepCopy(of, name, part.role === null ? undefined : part, state, reading);
  return parts.map(([, part]) => part);
}

function join(has: LoginSettings | null, parts: readonly SomeParts[]): LoginConfiguration {
  const joined: SomeParts = {};
  for (const part of parts) Object.assign(joined, part);
  const { settings = has, role = null, stsRole = null } = joined;
  if (!settings) throw new Error("a mount's object left out the settings");
  return { settings, role, stsRole };
}
