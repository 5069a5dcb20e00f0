import * as z from "zod";
import { ok } from "../../src/base/result.ts";
import type { Called, GroveClient } from "./client.ts";

const HEALTH = z.object({ initialized: z.boolean().default(true), cluster_id: z.string().default("") });

/** Reads `sys/health` of a server, initialized or not. */
export async function readHealth(client: GroveClient): Promise<Called<z.infer<typeof HEALTH>>> {
  const health = await client.call("GET", "sys/health?standbyok=true&uninitcode=200");
  return health.ok ? ok(HEALTH.catch({ initialized: true, cluster_id: "" }).parse(health.value.body)) : health;
}
