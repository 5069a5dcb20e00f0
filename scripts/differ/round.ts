import type { Choices } from "../local/choices.ts";
import { type Difference, differences } from "./compare.ts";
import type { Answer, Ask, Server } from "./server.ts";

/** A difference with the request that showed it. */
export interface Finding extends Difference {
  /** Method and path, with `~` in the place of what differs every time. */
  readonly request: string;
  readonly ask: Ask;
  readonly round: string;
}

/** What both answered. */
export interface Answers {
  readonly reference: Answer;
  readonly tested: Answer;
}

/** What a request has besides method, path and body. */
interface Details extends Pick<Ask, "token" | "headers"> {
  /** What it has beside its method and path, for the report. */
  readonly note?: string;
}

/** A round of requests that both servers get in the same order. */
export class Round {
  readonly choices: Choices;
  /** Begins the names of everything that the round makes: no two rounds meet. */
  readonly prefix: string;
  readonly findings: Finding[] = [];
  requests = 0;
  readonly #name: string;
  readonly #servers: { readonly reference: Server; readonly tested: Server };
  readonly #texts: boolean;

  constructor(
    name: string,
    prefix: string,
    choices: Choices,
    servers: { readonly reference: Server; readonly tested: Server },
    texts: boolean,
  ) {
    this.#name = name;
    this.prefix = prefix;
    this.choices = choices;
    this.#servers = servers;
    this.#texts = texts;
  }

  get(path: string, details: Pick<Ask, "token"> = {}): Promise<Answers> {
    return this.ask({ method: "GET", path, ...details });
  }

  list(path: string): Promise<Answers> {
    return this.ask({ method: "LIST", path });
  }

  post(path: string, body?: unknown, { note, ...details }: Details = {}): Promise<Answers> {
    return this.ask({ method: "POST", path, ...(body !== undefined && { body }), ...details }, note);
  }

  delete(path: string): Promise<Answers> {
    return this.ask({ method: "DELETE", path });
  }

  /** Asks both, and notes where they differ. */
  async ask(ask: Ask, note = ask.token === undefined ? "" : " by a token"): Promise<Answers> {
    const [reference, tested] = await Promise.all([this.#servers.reference.ask(ask), this.#servers.tested.ask(ask)]);
    this.requests++;
    const plain = (text: string) => text.replaceAll(this.prefix, "~");
    const request = plain(`${ask.method} ${ask.path}${note}`);
    for (const difference of differences(reference, tested, this.#texts)) {
      const values = { reference: plain(difference.reference), tested: plain(difference.tested) };
      this.findings.push({ where: difference.where, ...values, request, ask, round: this.#name });
    }
    return { reference, tested };
  }

  /** Keeps a string that both answered, to be named as `{name}` later. False when one did not. */
  keep(name: string, { reference, tested }: Answers, ...path: readonly string[]): boolean {
    const [first, second] = [textAt(reference.body, path), textAt(tested.body, path)];
    if (first === null || second === null) return false;
    this.#servers.reference.remember(name, first);
    this.#servers.tested.remember(name, second);
    return true;
  }

  /** The same of the token that was made. */
  keepToken(name: string, answers: Answers): boolean {
    return this.keep(name, answers, "auth", "client_token");
  }
}

function textAt(body: unknown, path: readonly string[]): string | null {
  let value: unknown = body;
  for (const name of path) {
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return typeof value === "string" && value !== "" ? value : null;
}
