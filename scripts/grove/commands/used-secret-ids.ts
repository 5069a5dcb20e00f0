import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { AUDIT_EVENTS, type AuditEvent, FOUND_TEXT, MOUNTS } from "../answer-schemas.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { UUID } from "../uuid.ts";
import { readEvents } from "./audit-pages.ts";
import { type Judged, judge } from "./find-judgements.ts";
import type { TextToFind } from "./find-texts.ts";
import { credentialOf, judgeSecretId, MAKES_SECRET_ID, type NamedSecretId } from "./held-credentials.ts";

const HASHED = z.object({ hash: z.string() });
const LOGIN_DATA = z.object({ secret_id: z.string() });

/** Most logins of a mount, the newest, among which a secret-id is looked for. */
const MAX_LOGINS = 10_000;

/** How many events of an accessor are read: each login with it names its role, and so does the request that made it. */
const EVENTS_OF_ACCESSOR = "100";

/** Secret-ids by the keyed hash of their text. */
type ByHash = ReadonlyMap<string, NamedSecretId>;

/**
 * The secret-ids of logins in the audit store. AppRole deletes a secret-id that is used up, destroyed or expired, but the
 * tokens of its logins can live on. Logins are read once, when they are first needed.
 */
export class UsedSecretIds {
  readonly #session: Pick<Session, "client" | "terminal">;
  #read: Promise<Called<ByHash>> | null = null;

  constructor(session: Pick<Session, "client" | "terminal">) {
    this.#session = session;
  }

  /**
   * Identifies a text: by `sys/tokens/find`, and a text that this does not know by the logins with it, or as the accessor
   * of a secret-id by its events.
   */
  async judge(text: TextToFind): Promise<Called<Judged>> {
    const judged = await judge(this.#session.client, text);
    if (!judged.ok || judged.value.state !== "unknown" || judged.value.kind !== "") return judged;
    for (const candidate of text.candidates.filter((one) => UUID.test(one))) {
      const named = await this.#namedBy(candidate);
      if (named.ok && named.value) return this.#judgeAccessor(named.value);
      const used = await this.#find(candidate);
      if (used.ok && used.value) return ok(judgedAs(used.value));
      // Without the right to read the audit store the answer stays as it is, and says so.
      const failure = [used, named].find((one) => !one.ok);
      if (failure?.ok === false)
        return ok({ ...judged.value, message: `${judged.value.message} ${notAsked(failure.error.message)}` });
    }
    return judged;
  }

  /** The secret-id with this accessor, from the audit store. The text may be a secret-id itself, so no URL has it. */
  async #namedBy(accessor: string): Promise<Called<NamedSecretId | undefined>> {
    const asked = { accessor, limit: EVENTS_OF_ACCESSOR };
    const found = await this.#session.client.post("sys/audit/events", AUDIT_EVENTS, asked);
    if (!found.ok) return found;
    const paths = found.value.events.flatMap(({ path = "", mount = "", role, principal }) => {
      const made = MAKES_SECRET_ID.exec(path)?.[1];
      if (made !== undefined) return [made];
      return role && principal === accessor ? [`${mount}role/${role}`] : [];
    });
    const [path] = paths;
    return ok(path === undefined ? undefined : { accessor, path });
  }

  async #judgeAccessor(secretId: NamedSecretId): Promise<Called<Judged>> {
    const now = await judgeSecretId(this.#session, secretId);
    if (!now.ok) return now;
    const { state } = now.value;
    const what = `This is the accessor of a secret-id of ${secretId.path}`;
    if (state === "unjudged") {
      const message = `${what}. Whether that is alive is not known: ${now.value.message}.`;
      return ok({ state, kind: "", message });
    }
    const message = `${what} that ${state === "live" ? "is alive" : "is used up, destroyed or expired"}. It is no secret: nobody logs in by it.`;
    return ok(FOUND_TEXT.parse({ credential: credentialOf(secretId), ...now.value, message }));
  }

  async #find(text: string): Promise<Called<NamedSecretId | undefined>> {
    this.#read ??= this.#readLogins();
    const read = await this.#read;
    if (!read.ok) return read;
    if (read.value.size === 0) return ok(undefined);
    const hashed = await this.#session.client.post("sys/audit-hash/store", HASHED, { input: text });
    return hashed.ok ? ok(read.value.get(hashed.value.hash)) : hashed;
  }

  async #readLogins(): Promise<Called<ByHash>> {
    const { client, terminal } = this.#session;
    const mounts = await client.get("sys/auth", MOUNTS);
    if (!mounts.ok) return mounts;
    const byHash = new Map<string, NamedSecretId>();
    for (const [mount] of Object.entries(mounts.value).filter(([, { type }]) => type === "approle")) {
      const logins = await readEvents(client, terminal, { mount: `auth/${mount}`, kind: "login" }, MAX_LOGINS);
      if (!logins.ok) return logins;
      for (const event of logins.value.events) {
        const data = LOGIN_DATA.safeParse(event.data);
        if (data.success) byHash.set(data.data.secret_id, secretIdOf(`auth/${mount}`, event));
      }
    }
    return ok(byHash);
  }
}

const secretIdOf = (mount: string, { principal = "", role = "" }: AuditEvent): NamedSecretId => ({
  accessor: principal,
  path: `${mount}role/${role}`,
});

const notAsked = (why: string): string =>
  `Whether it is the accessor of a secret-id, or logins were made with it, as a secret-id that is used up, is not known: ${why}.`;

function judgedAs({ accessor, path }: NamedSecretId): Judged {
  return FOUND_TEXT.parse({
    state: "ended",
    kind: "secret-id",
    chosen_id: false,
    message: `A secret-id of ${path} that is used up, destroyed or expired: no login takes it any more.`,
    credential: credentialOf({ accessor, path }),
  });
}
