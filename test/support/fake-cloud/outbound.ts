import type { FakeCloud } from "./fake-cloud.ts";

/** A request that left the Worker, by host. */
export interface Outbound {
  readonly host: string;
  readonly url: string;
}

/**
 * Puts the fake cloud in the place of the internet for the Worker of this test file.
 *
 * @returns what was sent where; also what no part of the fake cloud serves, which is answered as unreachable.
 */
export function replaceInternet(cloud: FakeCloud): Outbound[] {
  const sent: Outbound[] = [];
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    sent.push({ host: url.host, url: request.url });
    const headers = Object.fromEntries(request.headers);
    const target = url.pathname + url.search;
    const reaction = await cloud.react(
      { method: request.method, target, headers, body: new TextDecoder().decode(await request.arrayBuffer()) },
      url.host,
    );
    switch (reaction.kind) {
      case "reply":
        return new Response(reaction.reply.body, { status: reaction.reply.status, headers: reaction.reply.headers });
      case "stall":
        return new Promise(() => {});
      case "stall_body":
        return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), {
          headers: { "content-type": "text/xml" },
        });
      case "unreachable":
        throw new TypeError("Network connection lost.");
    }
  };
  return sent;
}
