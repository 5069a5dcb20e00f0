import { inPool } from "../../src/base/parallel.ts";
import { ask, type Client, makeToken } from "../servers/client.ts";
import type { Forest } from "./forest.ts";

/** Concurrent requests. */
const PARALLEL = 16;

/**
 * Creates a small forest through the API, for servers whose databases can't be written directly.
 *
 * @param largest number of children of the largest tree's root.
 * @param trees number of two-token trees of each kind: created without a role, and by the role `ci`.
 */
export async function plantThroughApi(
  root: Client,
  { largest, trees }: { readonly largest: number; readonly trees: number },
): Promise<Forest> {
  const fields = { ttl: "24h", policies: ["root"] };
  await ask(root, "POST", "v1/auth/token/roles/ci", { orphan: true, allowed_policies: "root" });
  const many = (count: number) => Array.from({ length: count }, (_, number) => number);
  const grow = async (endpoint: string, children: number) => {
    const { token } = await makeToken(root, endpoint, fields);
    await inPool(many(children), PARALLEL, () => makeToken({ url: root.url, token }, "create", fields));
    return token;
  };
  const growAll = async (endpoint: string) => {
    const tops: string[] = [];
    await inPool(many(trees), PARALLEL, async () => void tops.push(await grow(endpoint, 1)));
    return tops;
  };
  return {
    largest: await grow("create-orphan", largest),
    plain: await growAll("create-orphan"),
    ofRole: await growAll("create/ci"),
    ofLogins: [],
  };
}
