import { createToken } from "./service.ts";
import { rewriteRecord } from "./trees.ts";

/** A child of `parent` that is bound to `cidrs`, written where only roles and auth methods could have put it. */
export async function growBound(parent: string, cidrs: readonly string[]): Promise<string> {
  const { client_token } = await createToken(parent);
  await rewriteRecord(client_token, (record) => ({ ...record, boundCidrs: cidrs }));
  return client_token;
}
