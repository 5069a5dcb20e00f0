import { runInDurableObject } from "cloudflare:test";
import { createToken } from "./service.ts";
import { locate } from "./trees.ts";

/** A child of `parent` that is bound to `cidrs`, written where only roles and auth methods could have put it. */
export async function growBound(parent: string, cidrs: readonly string[]): Promise<string> {
  const { client_token } = await createToken(parent);
  const { stub, row } = await locate(client_token);
  await runInDurableObject(stub, (_, state) => {
    state.storage.sql.exec(
      "UPDATE tokens SET record = json_set(record, '$.boundCidrs', json(?)) WHERE row = ?",
      JSON.stringify(cidrs),
      row,
    );
  });
  return client_token;
}
