import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "../statistics.ts";
import { type Checks, createToken, must, withServer } from "./check.ts";
import { type Subject, TRUSTED_PROXY } from "./subject.ts";

const ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
const CONNECTIONS_OF_EACH = 190;
/** An open endpoint with a long answer, asked for many times on each connection. */
const PIPELINED = "GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: grove\r\n\r\n".repeat(40);
const ASKED = 30;
/** What a fifth client waits at most on a quiet machine, as the median (ms). */
const LIMIT_MS = 100;
/** On a machine that is busy with other work every request takes long: then so many times what it takes without the attack. */
const LIMIT_FACTOR = 30;

/** What a client of the network can try: load, addresses and hosts. */
export const NETWORK: Checks = {
  async "bodies that never end silence the gateway"(subject) {
    const sockets: Socket[] = [];
    try {
      for (const [count, announced, sent] of [
        [150, 1_048_576, 1_000_000],
        [300, 200_000, 66_000],
      ] as const) {
        for (let i = 0; i < count; i++) {
          const head = `PUT /v1/sys/x HTTP/1.1\r\nHost: grove\r\nContent-Length: ${announced}\r\n\r\n`;
          const socket = open(subject, "127.0.0.1", head);
          socket.write(Buffer.alloc(sent, 32));
          sockets.push(socket);
        }
      }
      await timesOf(subject);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    return "another client's sys/health answers all through it";
  },

  async "four addresses that do not read"(subject) {
    const quiet = await timesOf(subject);
    const limitMs = Math.max(LIMIT_MS, LIMIT_FACTOR * quiet.median);
    const outcomes = [`${quiet.median} ms without them`];
    for (const reading of ["nothing", "a byte a second"] as const) {
      const sockets = ADDRESSES.flatMap((address) =>
        Array.from({ length: CONNECTIONS_OF_EACH }, () => open(subject, address, PIPELINED)),
      );
      const drip = setInterval(() => {
        if (reading === "a byte a second") for (const socket of sockets) socket.read(1);
      }, 1_000);
      const { median, longest } = await timesOf(subject).finally(() => {
        clearInterval(drip);
        for (const socket of sockets) socket.destroy();
      });
      must(median <= limitMs, `sys/health took ${median} ms while others read ${reading}`);
      outcomes.push(`${median} (at most ${longest}) while they read ${reading}`);
    }
    return outcomes.join(", ");
  },

  async "a forwarded address that can't be read"(subject) {
    const role = { orphan: true, token_bound_cidrs: [`${TRUSTED_PROXY}/32`, "203.0.113.0/24"] };
    await subject.call("POST", "auth/token/roles/of-the-proxy", { body: role });
    const { token } = await createToken(subject, {}, "create/of-the-proxy");
    const readable = ["203.0.113.9", "203.0.113.9:4711"];
    const unreadable = ["unknown", "", "_hidden", "[2001:db8::1", "203.0.113", "203.0.113.9, unknown"];
    for (const forwarded of [...readable, ...unreadable]) {
      const options = { token, headers: { "X-Forwarded-For": forwarded }, from: TRUSTED_PROXY };
      await subject.answers(readable.includes(forwarded) ? 200 : 403, "GET", "auth/token/lookup-self", options);
    }
    return "403: the client is unknown, not the proxy";
  },

  async "a lease target in the private network"(subject) {
    const asked = new Set<string>();
    for (const [host, expected] of [
      ["127.0.0.1", 200],
      ["127.0.0.2", 400],
    ] as const) {
      const note = () => asked.add(host);
      await withServer(host, note, async (target) => {
        const { token } = await createToken(subject, {});
        const lease = { token, path: "db/creds/x", ttl: "1h", target };
        await subject.answers(expected, "POST", "sys/leases/register", { body: lease });
        await subject.call("POST", "auth/token/revoke", { body: { token } });
        if (expected === 200) await subject.until("the revocation at the allowed address", () => asked.has(host));
        else await pause(1_000);
      });
    }
    must(!asked.has("127.0.0.2"), "an address that is not on the list was called");
    return "400: only hosts of --allow-private-host are taken, and called";
  },

  async "a lease id made from an accessor"(subject) {
    const { token, accessor } = await createToken(subject, {});
    const lease_id = `auth/token/create-orphan/h${Buffer.from(accessor, "base64url").toString("hex")}`;
    await subject.answers(400, "POST", "sys/leases/lookup", { body: { lease_id } });
    await subject.call("POST", "sys/leases/revoke", { body: { lease_id } });
    await subject.answers(200, "GET", "auth/token/lookup-self", { token });
    return "400: no such lease";
  },
};

/** What another client waits for, and the longest of it (whole ms). */
async function timesOf(subject: Subject): Promise<{ readonly median: number; readonly longest: number }> {
  const times: number[] = [];
  for (let count = 0; count < ASKED; count++) {
    const began = performance.now();
    await subject.answers(200, "GET", "sys/health", { token: "", from: "127.0.0.6" });
    times.push(Math.ceil(performance.now() - began));
    await pause(100);
  }
  return { median: Math.ceil(median(times)), longest: Math.max(...times) };
}

/** A connection that sends something, and of which nothing is read but what `read` takes. */
function open({ port }: Subject, localAddress: string, sent: string): Socket {
  const socket = connect({ host: "127.0.0.1", port, localAddress }).on("error", () => {});
  // Without a listener for data nothing else is read.
  socket.on("readable", () => {});
  socket.write(sent);
  return socket;
}
