import { type Access, type Answer, call } from "../servers/call.ts";
import { expectedOf, type Ledger, type LedgerToken } from "./ledger.ts";

/** Uses that the token with counted uses begins with. */
export const USES = 1_000_000;
/** What a renewal asks for is a multiple of this, so that the look-up tells which one was the last. */
export const RENEWAL_STEP_SECONDS = 3600;

/** Tokens that one writer keeps for the whole run. */
export interface Kept {
  /** Holds the cubbyhole and makes children. */
  readonly maker: LedgerToken;
  readonly counted: string;
  readonly renewed: string;
}

/** One client that writes without a pause, and notes in the ledger what it sends and what it is told. */
export class Writer {
  readonly #name: string;
  readonly #kept: Kept;
  readonly #ledger: Ledger;
  readonly #random: () => number;
  /** Tokens that this writer made and may make more from, or revoke. */
  #own: LedgerToken[] = [];

  constructor(name: string, kept: Kept, ledger: Ledger, random: () => number) {
    this.#name = name;
    this.#kept = kept;
    this.#ledger = ledger;
    this.#random = random;
  }

  /** Writes until a request is not answered or `stopped` says so. */
  async write(root: Access, stopped: () => boolean): Promise<void> {
    this.#own = this.#own.filter((token) => expectedOf(token) === "alive").slice(-20);
    const steps = [
      () => this.#create(root, this.#kept.maker),
      () => this.#create(root, this.#pick() ?? this.#kept.maker),
      () => this.#create(root, null),
      () => this.#revoke(root),
      () =>
        this.#number(`${this.#name} policy`, (n) => call(root, "PUT", `sys/policies/acl/${this.#name}`, policyOf(n))),
      () =>
        this.#number(`${this.#name} cubbyhole`, (n) =>
          call(this.#as(root, this.#kept.maker.token), "PUT", "cubbyhole/number", { value: n }),
        ),
      () =>
        this.#number(`${this.#name} uses`, () =>
          call(this.#as(root, this.#kept.counted), "GET", "auth/token/lookup-self"),
        ),
      () =>
        this.#number(`${this.#name} renewals`, (n) =>
          call(root, "POST", "auth/token/renew", {
            token: this.#kept.renewed,
            increment: n * RENEWAL_STEP_SECONDS,
          }),
        ),
    ];
    while (!stopped()) {
      const step = steps[Math.floor(this.#random() * steps.length)];
      if (!(await step?.())) return;
    }
  }

  async #create(root: Access, parent: LedgerToken | null): Promise<boolean> {
    const creator = parent ? this.#as(root, parent.token) : root;
    const path = parent ? "create" : "create-orphan";
    const answer = await ask(() => call(creator, "POST", `auth/token/${path}`, { ttl: "24h", policies: ["root"] }));
    const token = answer?.body?.auth?.client_token;
    if (token === undefined) return false;
    this.#own.push(this.#ledger.created(token, parent));
    return true;
  }

  async #revoke(root: Access): Promise<boolean> {
    const victim = this.#pick();
    if (!victim) return true;
    victim.revocation = "sent";
    const answer = await ask(() => call(root, "POST", "auth/token/revoke", { token: victim.token }));
    if (!answer) return false;
    victim.revocation = "answered";
    this.#own = this.#own.filter((token) => expectedOf(token) === "alive");
    return true;
  }

  async #number(name: string, send: (next: number) => Promise<Answer>): Promise<boolean> {
    const number = this.#ledger.number(name);
    const next = number.sent + 1;
    number.sent = next;
    if (!(await ask(() => send(next)))) return false;
    number.answered = next;
    return true;
  }

  #pick(): LedgerToken | undefined {
    return this.#own[Math.floor(this.#random() * this.#own.length)];
  }

  #as({ place }: Access, token: string): Access {
    return { place, token };
  }
}

/** A policy that says which write of it this was. */
function policyOf(number: number): { readonly policy: string } {
  return { policy: `# ${number}\npath "secret/${number}" { capabilities = ["read"] }` };
}

/** The answer, or null when none came or one that promises nothing. */
async function ask(send: () => Promise<Answer>): Promise<Answer | null> {
  try {
    const answer = await send();
    return answer.status < 300 ? answer : null;
  } catch {
    return null;
  }
}
