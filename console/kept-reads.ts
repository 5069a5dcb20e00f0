import type { Answer } from "./result.ts";

/** How long an answer is kept (ms): the search asks at each pause in typing, and is opened often. */
const KEPT_MS = 10_000;

/** One list, of which each `Api` keeps the last answer. A failed answer is not kept. */
export class KeptRead<Api extends WeakKey, T> {
  readonly #kept = new WeakMap<Api, { readonly at: number; readonly answer: Promise<Answer<T>> }>();
  readonly #ask: (api: Api) => Promise<Answer<T>>;

  constructor(ask: (api: Api) => Promise<Answer<T>>) {
    this.#ask = ask;
  }

  /** @param now in ms */
  async read(api: Api, now: number): Promise<Answer<T>> {
    const before = this.#kept.get(api);
    if (before && now - before.at < KEPT_MS) return before.answer;
    const kept = { at: now, answer: this.#ask(api) };
    this.#kept.set(api, kept);
    const answer = await kept.answer;
    if (!answer.ok && this.#kept.get(api) === kept) this.#kept.delete(api);
    return answer;
  }
}
