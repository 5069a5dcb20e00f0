import type { Choices } from "./choices.ts";
import { type Difference, differences } from "./compare.ts";
import type { Answer, Ask, Server } from "./server.ts";

/** A difference with the request that showed it. */
export interface Finding extends Difference {
  /** The request with names in the place of what differs every time. */
  readonly request: string;
  readonly ask: Ask;
  readonly round: string;
}

/** What both answered. */
export interface Answers {
  readonly reference: Answer;
  readonly tested: Answer;
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

  /** Asks both, and notes where they differ. @param request what the findings are grouped by. */
  async ask(request: string, ask: Ask): Promise<Answers> {
    const [reference, tested] = await Promise.all([this.#servers.reference.ask(ask), this.#servers.tested.ask(ask)]);
    this.requests++;
    for (const difference of differences(reference, tested, this.#texts)) {
      const [mine, theirs] = [difference.reference, difference.tested].map((text) => text.replaceAll(this.prefix, "~"));
      const finding = { where: difference.where, reference: mine ?? "", tested: theirs ?? "" };
      this.findings.push({ ...finding, request, ask, round: this.#name });
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
}

function textAt(body: unknown, path: readonly string[]): string | null {
  let value: unknown = body;
  for (const name of path) {
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return typeof value === "string" && value !== "" ? value : null;
}
