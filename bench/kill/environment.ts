import { createServer } from "node:http";
import { listenAt } from "../../gateway/server.ts";
import { ask, type Client, TEAMS } from "../servers/client.ts";
import { ACCOUNT, type LocalCloud, startCloud } from "../servers/cloud.ts";

/** The organization of the teams. */
export const ORGANIZATION = "kill";
/** The role of the cloud method by which instances log in. */
export const LOGIN_ROLE = "machine";
/** The policy of tokens that make batch tokens. */
export const PASSING_POLICY = "passing";

/** How a target answers a revocation: with success, first with a refusal, or always with a refusal. */
export const TEMPERS = ["willing", "slow", "refusing"] as const;

/** Services around the server, which outlive it. */
export interface Environment extends LocalCloud {
  readonly engine: Engine;
}

/** A service that revokes secrets of leases. */
export interface Engine {
  /** Ids of the leases whose revocation it was asked for, with any answer. */
  readonly asked: ReadonlySet<string>;
  /** The URL that a lease names for its revocation. */
  target(temper: (typeof TEMPERS)[number]): string;
}

/** Starts the services, and makes on the server what all writers share. */
export async function startEnvironment(root: Client): Promise<Environment> {
  const cloud = await startCloud(root);
  const role = { auth_type: "vm", bound_account_id: ACCOUNT, token_policies: "default", token_ttl: "24h" };
  await ask(root, "POST", `v1/auth/cloud/role/${LOGIN_ROLE}`, role);
  const attributes = { name: ORGANIZATION, email: "kill@example.com" };
  await ask(root, "POST", `${TEAMS}/organizations`, { data: { type: "organizations", attributes } });
  const policy = 'path "auth/token/*" { capabilities = ["create", "update", "read"] }';
  await ask(root, "POST", `v1/sys/policies/acl/${PASSING_POLICY}`, { policy });

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
    engine: { asked, target: (temper) => `http://127.0.0.1:${bound.value}/${temper}` },
    async stop() {
      server.close().closeAllConnections();
      await cloud.stop();
    },
  };
}
