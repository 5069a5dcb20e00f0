import * as z from "zod";
import type { GroveClient } from "../grove/client.ts";
import type { DeclaredRequest } from "./declaration.ts";
import { placeOf } from "./plan-lines.ts";

const POLICY = /^sys\/(?:policies\/acl|policy)\/./;
const UNSERVED = z.object({ unserved: z.array(z.object({ path: z.string(), lines: z.array(z.number()) })) });

/**
 * Warnings about paths of declared policies for which the server has no endpoint. Asks the server after
 * everything was applied, because a path below a new mount has an endpoint only then. Without an answer there is no warning.
 */
export async function policyWarnings(
  client: Pick<GroveClient, "post">,
  requests: readonly DeclaredRequest[],
): Promise<string[]> {
  const warnings: string[] = [];
  for (const request of requests) {
    const { policy } = request.data;
    if (!POLICY.test(request.path) || typeof policy !== "string") continue;
    const found = await client.post("sys/explain/policy", UNSERVED, { policy });
    for (const { path } of found.ok ? found.value.unserved : [])
      warnings.push(
        `${placeOf(request)}: no endpoint of Grove has the path ${path}; only other services can ask about it`,
      );
  }
  return warnings;
}
