import * as z from "zod";
import type { GroveClient } from "./client.ts";

const CAPABILITIES = z.record(z.string(), z.array(z.string()));

/**
 * True when the token may make an optional request, which only adds to the output of a command. If it were refused, the
 * audit log would have a refusal that the user did not cause.
 *
 * @param path without `/v1/`.
 * @param needed capabilities on it.
 */
export async function isAllowed(client: GroveClient, path: string, needed: readonly string[]): Promise<boolean> {
  const answer = await client.post("sys/capabilities-self", CAPABILITIES, { paths: [path] });
  const held = (answer.ok && answer.value[path]) || [];
  return held.includes("root") || needed.every((capability) => held.includes(capability));
}
