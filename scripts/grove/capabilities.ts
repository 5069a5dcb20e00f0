import * as z from "zod";
import type { GroveClient } from "./client.ts";

const CAPABILITIES = z.record(z.string(), z.array(z.string()));

/**
 * True when the token of a command may make a request that only adds to its answer. The request of a token that may not
 * would be a refusal in the audit log, which nobody has caused.
 *
 * @param path without `/v1/`.
 * @param needed capabilities on it.
 */
export async function isAllowed(client: GroveClient, path: string, needed: readonly string[]): Promise<boolean> {
  const answer = await client.post("sys/capabilities-self", CAPABILITIES, { paths: [path] });
  const held = (answer.ok && answer.value[path]) || [];
  return held.includes("root") || needed.every((capability) => held.includes(capability));
}
