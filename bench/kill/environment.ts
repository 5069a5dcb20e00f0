import { createServer } from "node:http";
import { listenAt } from "../../gateway/server.ts";
import { ask, type Client, TEAMS } from "../servers/client.ts";
import { ACCOUNT, type LocalCloud, startCloud } from "../servers/cloud.ts";

/** The organization that contains the teams. */
export const ORGANIZATION = "kill";
/** The role of `auth/cloud` that instances use to log in. */
export const LOGIN_ROLE = "machine";
/** The policy of tokens that create batch tokens. */
export const BATCH_CREATOR_POLICY = "batch-creator";

/** How a target answers revocations: with success, with success after one 503, or always with 400. */
export const TARGET_KINDS = ["willing", "slow", "refusing"] as const;

/** Services that the server calls. They keep running when the server is killed. */
export interface Environment extends LocalCloud {
  readonly engine: Engine;
}

/** A secrets engine, which revokes the secrets of leases. */
export interface Engine {
  /** Ids of the leases whose revocation was requested, whatever the answer. */
  readonly asked: ReadonlySet<string>;
  /** The revocation URL to register with a lease. */
  target(targetKind: (typeof TARGET_KINDS)[number]): string;
}

/** Starts the services. Creates the roles, policies and the organization that all writers share. */
export async function startEnvironment(root: Client): Promise<Environment> {
  const cloud = await startCloud(root);
  const role = { auth_type: "vm", bound_account_id: ACCOUNT, token_policies: "default", token_ttl: "24h" };
  await ask(root, "POST", `v1/auth/cloud/role/${LOGIN_ROLE}`, role);
  const attributes = { name: ORGANIZATION, email: "kill@example.com" };
  await ask(root, "POST", `${TEAMS}/organizations`, { data: { type: "organizations", attributes } });
  const policy = 'path "auth/token/*" { capabilities = ["create", "update", "read"] }';
  await ask(root, "POST", `v1/sys/policies/acl/${BATCH_CREATOR_POLICY}`, { policy });

  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const lease = String(request.headers["idempotency-key"]);
    request.resume().on("end", () => {
      const isFirst = !asked.has(lease);
      asked.add(lease);
      const refusal = request.url === "/refusing" ? 400 : 503;
      const agrees = request.url === "/willing" || (request.url === "/slow" && !isFirst);
      response.writeHead(agrees ? 204 : refusal).end();
    });
  });
  const bound = await listenAt(server, { host: "127.0.0.1", port: 0 });
  if (!bound.ok) throw new Error(`the engine can't listen: ${bound.error}`);
  return {
    ...cloud,
    engine: { asked, target: (targetKind) => `http://127.0.0.1:${bound.value}/${targetKind}` },
    async stop() {
      server.close().closeAllConnections();
      await cloud.stop();
    },
  };
}
