import { setTimeout as pause } from "node:timers/promises";
import { text } from "../../servers/client.ts";
import type { Choices } from "../writer.ts";
import { endGroup, LOGIN_ROLES, type LoginMount, makeLoginMount, makeRole, type Role } from "./groups.ts";
import { LISTED_MS, revokeByJob } from "./jobs.ts";
import { isAnswer, RETRY_MS, Recorder, type Servers } from "./recorder.ts";

/** Concurrent clients. */
const CLIENTS = 8;
/** Pause of a client between two requests (ms). */
const PAUSE_MS = 20;
/** A client uses only this many of its newest tokens. */
const NEWEST = 12;
/** Longest time between two watermarks (ms). */
const MAX_CALM_MS = 4_000;
/** How long clients create tokens of one role before a job revokes them (ms). */
const ROLE_MS = 15_000;
/** One in this many jobs revokes tokens that may not be listed yet. */
const EARLY_JOBS = 4;

const ROOT_FIELDS = { ttl: "24h", policies: ["root"] };

/** Clients that send requests to all servers, and record the history of requests and answers. */
export class Clients {
  readonly recorder: Recorder;
  readonly #choices: Choices;
  /** Tokens that can't have children, or whose children would end with the token's last use. */
  readonly #childless = new Set<string>();
  #marked: Role | null = null;
  #listed: Role | null = null;
  #mount: LoginMount | null = null;
  #stopped = false;

  constructor(servers: Servers, choices: Choices) {
    this.recorder = new Recorder(servers, choices);
    this.#choices = choices;
  }

  /** Sends requests until `stop`. */
  async run(): Promise<void> {
    this.#marked = await makeRole(this.recorder);
    this.#mount = await makeLoginMount(this.recorder);
    const clients = Array.from({ length: CLIENTS }, () => this.#client());
    await Promise.all([...clients, this.#setWatermarks(), this.#runJobs()]);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Uses every token once more at a random server, and repeats that until it is answered. */
  async useAll(): Promise<void> {
    const names = this.recorder.tokens;
    const next = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        while (!(await this.recorder.use(name))) await pause(RETRY_MS);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, next));
  }

  async #client(): Promise<void> {
    const own: string[] = [];
    while (!this.#stopped) {
      const recent = own.slice(-NEWEST);
      const token = recent[this.#choices.below(Math.max(1, recent.length))];
      const choice = this.#choices.below(20);
      let isAnswered = true;
      if (token === undefined || choice < 6) {
        const made = await this.#create(choice, token);
        own.push(...made);
        isAnswered = made.length > 0;
      } else if (choice < 8) isAnswered = await this.#revoke(token);
      else isAnswered = await this.recorder.use(token);
      await pause(isAnswered ? PAUSE_MS : RETRY_MS);
    }
  }

  /** Creates tokens of a kind. @param above the possible parent. */
  async #create(kind: number, above: string | undefined): Promise<string[]> {
    const parent = above === undefined || this.#childless.has(above) ? null : above;
    let made: (string | null)[];
    if (kind === 0) made = await this.#logIn();
    else if (kind === 1) made = [await this.#createByRole(this.#marked)];
    else if (kind === 2) made = [await this.#createByRole(this.#listed)];
    else if (kind === 3 && parent !== null) made = [await this.#createBatch(parent)];
    else made = [await this.#createPlain(kind === 4 ? null : parent)];
    return made.filter((token) => token !== null);
  }

  async #createPlain(parent: string | null): Promise<string | null> {
    const uses = this.#choices.below(4) === 0 ? 1 + this.#choices.below(3) : null;
    const body = { ...ROOT_FIELDS, ...(uses !== null && { num_uses: uses }) };
    const by = parent === null ? {} : { by: this.recorder.textOf(parent) };
    const path = `v1/auth/token/${parent === null ? "create-orphan" : "create"}`;
    const token = await this.recorder.make(path, { ...by, body }, { parent, uses });
    if (token !== null && uses !== null) this.#childless.add(token);
    return token;
  }

  async #createBatch(parent: string): Promise<string | null> {
    const body = { type: "batch", ttl: "24h", policies: ["default"] };
    const request = { by: this.recorder.textOf(parent), body };
    const token = await this.recorder.make("v1/auth/token/create", request, { parent, batch: true });
    if (token !== null) this.#childless.add(token);
    return token;
  }

  async #createByRole(role: Role | null): Promise<string | null> {
    if (role === null) return null;
    return this.recorder.make(`v1/auth/token/create/${role.name}`, { body: ROOT_FIELDS }, { groups: [role.group] });
  }

  /** Logs in with one secret-id at up to three servers concurrently. The secret-id is valid for one login. */
  async #logIn(): Promise<(string | null)[]> {
    const mount = this.#mount;
    if (mount === null) return [];
    const role = this.#choices.pick(LOGIN_ROLES);
    const reply = await this.recorder.send("POST", `v1/auth/${mount.path}/role/${role}/secret-id`, { body: {} });
    if (reply?.status !== 200) return [];
    const nonce = text(reply.body, "data", "secret_id_accessor");
    const body = { role_id: mount.roleIds[role], secret_id: text(reply.body, "data", "secret_id") };
    const times = 1 + this.#choices.below(3);
    const about = { groups: [mount.group], nonce };
    const logIn = () => this.recorder.make(`v1/auth/${mount.path}/login`, { by: "", body }, about);
    const made = await Promise.all(Array.from({ length: times }, logIn));
    for (const token of made) if (token !== null) this.#childless.add(token);
    return made;
  }

  /** Revokes a token with the root token: with its descendants, or alone. False without an answer. */
  async #revoke(token: string): Promise<boolean> {
    const alone = this.#choices.below(3) === 0;
    const begin = performance.now();
    const path = `v1/auth/token/${alone ? "revoke-orphan" : "revoke"}`;
    const reply = await this.recorder.send("POST", path, { body: { token: this.recorder.textOf(token) } });
    const isDone = reply?.status === 204;
    this.recorder.history.push({ kind: "revoke", token, alone, begin, end: isDone ? performance.now() : null });
    return isAnswer(reply);
  }

  /** Repeatedly ends the tokens of a role or of a mount. */
  async #setWatermarks(): Promise<void> {
    while (!this.#stopped) {
      await pause(this.#choices.below(MAX_CALM_MS));
      const isMount = this.#choices.below(2) === 0;
      const of = isMount ? this.#mount : this.#marked;
      if (of !== null && (await endGroup(this.recorder, of))) continue;
      // It is unknown which of the group's later tokens the lost request will end, so a new group replaces it.
      if (isMount) this.#mount = await makeLoginMount(this.recorder);
      else this.#marked = await makeRole(this.recorder);
    }
  }

  /** Creates a role every few seconds, and revokes its tokens with a job, mostly after all of them are listed. */
  async #runJobs(): Promise<void> {
    const waiting: { role: Role; sinceMs: number }[] = [];
    while (!this.#stopped) {
      if (this.#listed !== null) waiting.push({ role: this.#listed, sinceMs: performance.now() });
      this.#listed = await makeRole(this.recorder);
      const [oldest] = waiting;
      const isListed = oldest !== undefined && performance.now() - oldest.sinceMs > LISTED_MS;
      const chosen = isListed ? waiting.shift() : this.#choices.below(EARLY_JOBS) === 0 ? waiting.pop() : undefined;
      if (chosen) await revokeByJob(this.recorder, chosen.role);
      for (let ms = 0; ms < ROLE_MS && !this.#stopped; ms += RETRY_MS) await pause(RETRY_MS);
    }
  }
}
