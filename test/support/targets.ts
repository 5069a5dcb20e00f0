import { vi } from "vitest";

/** A revocation that reached the stand-in for the internet. */
export interface Received {
  readonly url: string;
  readonly headers: Headers;
  readonly body: {
    readonly lease_id: string;
    readonly path: string;
    readonly target: string;
    readonly issue_time: string;
    readonly data: unknown;
  };
  /** The body as it was signed. */
  readonly text: string;
}

/** What a target answers: a status, or what `fetch` would throw. */
export type TargetAnswer = number | Error | Promise<number>;

// Alarms of leases that a test left behind must not reach the network.
globalThis.fetch = () => Promise.reject(new TypeError("tests have no network"));

/** Stands in for every address on the internet. Returns what arrived; `answer` decides what comes back. */
export function standInForTargets(answer: (received: Received) => TargetAnswer = () => 204): Received[] {
  const received: Received[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const request = new Request(input);
    const { url, headers } = request;
    const text = await request.text();
    const arrived: Received = {
      url,
      headers,
      body: JSON.parse(text) as Received["body"],
      text,
    };
    received.push(arrived);
    const status = await answer(arrived);
    if (status instanceof Error) throw status;
    return new Response(null, { status });
  });
  return received;
}
