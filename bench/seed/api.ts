import { inPool } from "../../src/base/parallel.ts";
import { ask, type Client, makeToken } from "../servers/client.ts";
import type { Forest } from "./forest.ts";

/** Requests at a time. */
const PARALLEL = 16;

/**
 * Makes a small forest through the API, where storage can't be written into.
 *
 * @param largest tokens below the first one of the largest tree.
 * @param trees of two tokens each: so many without a role, and so many of the role `ci`.
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
