import type { AppRoleSecretIds } from "../../src/methods/approle/app-role-secret-ids.ts";
import { APP_ROLE_METHOD } from "../../src/methods/approle/method.ts";
import { secretIdShardAt, secretIdShardsOf } from "../../src/methods/approle/secret-id-shards.ts";
import { mountRow } from "./cloud.ts";
import { type Answer, bindings, call, dataOf } from "./service.ts";

/** A secret-id as its making answers it. */
export interface MadeSecretId {
  readonly secret_id: string;
  readonly secret_id_accessor: string;
  readonly secret_id_num_uses: number;
  readonly secret_id_ttl: number;
}

/** A mount of the approle method, with a role. */
export async function mountAppRole(root: string, path: string) {
  const enabled = await call("POST", `sys/auth/${path}`, { token: root, body: { type: APP_ROLE_METHOD.type } });
  if (enabled.status !== 204) throw new Error(`the mount was answered ${enabled.status}`);
  const ask = (method: string, below: string, body?: unknown, token = root): Promise<Answer> => {
    // The runtime has no method LIST for requests.
    const [sent, query] = method === "LIST" ? ["GET", `${below.includes("?") ? "&" : "?"}list=true`] : [method, ""];
    return call(sent, `auth/${path}/${below}${query}`, { token, ...(body !== undefined && { body }) });
  };
  return {
    ask,
    /** Writes a role and returns its role-id. */
    role: async (name: string, fields: Record<string, unknown> = {}) => {
      const written = await ask("POST", `role/${name}`, fields);
      if (written.status >= 300)
        throw new Error(`the role was answered ${written.status} ${JSON.stringify(written.body)}`);
      return dataOf<{ role_id: string }>(await ask("GET", `role/${name}/role-id`)).role_id;
    },
    secretId: async (name: string, fields: Record<string, unknown> = {}) => {
      const made = await ask("POST", `role/${name}/secret-id`, fields);
      if (made.status !== 200)
        throw new Error(`the secret-id was answered ${made.status} ${JSON.stringify(made.body)}`);
      return dataOf<MadeSecretId>(made);
    },
    login: (roleId: string, secretId?: string, address?: string): Promise<Answer> =>
      call("POST", `auth/${path}/login`, {
        body: { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) },
        ...(address !== undefined && { headers: { "CF-Connecting-IP": address } }),
      }),
    /** The shard with the secret-id of an accessor. */
    shardOf: async (accessor: string): Promise<DurableObjectStub<AppRoleSecretIds>> =>
      secretIdShardAt(bindings, await mountRow(path), Number.parseInt(accessor.slice(0, 1), 16)),
    shards: async () => secretIdShardsOf(bindings, await mountRow(path)),
  };
}

export type AppRoleMount = Awaited<ReturnType<typeof mountAppRole>>;
