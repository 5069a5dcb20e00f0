import { createServer } from "node:net";
import { listenAt } from "../../gateway/server.ts";

/** A port of 127.0.0.1 at which no program listens now. @throws when the system has none. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  const bound = await listenAt(probe, { host: "127.0.0.1", port: 0 });
  await new Promise((closed) => probe.close(closed));
  if (!bound.ok) throw new Error(`there is no free port: ${bound.error}`);
  return bound.value;
}
