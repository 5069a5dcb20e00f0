import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { type AuditEvent, FOUND_TEXT, MOUNTS } from "../answer-schemas.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { UUID } from "../uuid.ts";
import { readEvents } from "./audit-pages.ts";
import { type Judged, judge } from "./find-judgements.ts";
import type { TextToFind } from "./find-texts.ts";
import type { NamedSecretId } from "./held-credentials.ts";

const HASHED = z.object({ hash: z.string() });
const LOGIN_DATA = z.object({ secret_id: z.string() });

/** Most logins of a mount, the newest, among which a secret-id is looked for. */
const MAX_LOGINS = 10_000;

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

  /** Identifies a text: by `sys/tokens/find`, and a text that this does not know by the logins with it. */
  async judge(text: TextToFind): Promise<Called<Judged>> {
    const judged = await judge(this.#session.client, text);
    if (!judged.ok || judged.value.state !== "unknown" || judged.value.kind !== "") return judged;
    for (const candidate of text.candidates.filter((one) => UUID.test(one))) {
      const used = await this.#find(candidate);
      // Without the right to read the audit store the answer stays as it is, and says so.
      if (!used.ok) return ok({ ...judged.value, message: `${judged.value.message} ${notAsked(used.error.message)}` });
      if (used.value) return ok(judgedAs(used.value));
    }
    return judged;
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
  `Whether logins were made with it, as a secret-id that is used up, is not known: ${why}.`;

function judgedAs({ accessor, path }: NamedSecretId): Judged {
  return FOUND_TEXT.parse({
    ...{ state: "ended", kind: "secret-id", chosen_id: false },
    message: `A secret-id of ${path} that is used up, destroyed or expired: no login takes it any more.`,
    credential: {
      ...{ accessor, display_name: "", policies: [], metadata: {}, entity_id: "", path },
      ...{ created: null, expires: null, parent: null },
    },
  });
}
