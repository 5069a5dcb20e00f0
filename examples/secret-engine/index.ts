import { WorkerEntrypoint } from "cloudflare:workers";
import type { AuthorizeRequest, LeaseAuthorityBinding, TokenAuthorityBinding } from "grove/types";

interface Env {
  readonly GROVE: TokenAuthorityBinding;
  readonly GROVE_LEASES: LeaseAuthorityBinding;
  readonly ACCOUNTS: KVNamespace;
}

/** Seconds that an account lives unless its lease is renewed. */
const TTL = 3600;

/** `GET /accounts/<role>` with one of Grove's tokens: a new account under a lease of that token. */
export default class SecretEngine extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const path = decodeURIComponent(pathname).slice(1);
    const token = request.headers.get("X-Vault-Token") ?? "";
    if (request.method !== "GET" || !/^accounts\/\w+$/.test(path)) return failure(404, "unsupported path");

    const asked: AuthorizeRequest = { path, operation: "read", ...clientAddress(request) };
    const verdict = await this.env.GROVE.authorize(token, asked);
    if (!verdict.allowed) return failure(verdict.reason === "unavailable" ? 503 : 403, verdict.message);

    // The lease comes first: an account without a lease would never be revoked.
    const name = crypto.randomUUID();
    const target = "service://SECRET_ENGINE/revoke";
    const answer = await this.env.GROVE_LEASES.register({ token, path, ttl: TTL, target, data: { name } });
    if (!answer.done) return failure(400, answer.message);
    await this.env.ACCOUNTS.put(name, JSON.stringify({ owner: verdict.holder.displayName }));

    const { id, renewable } = answer.lease;
    return Response.json({ lease_id: id, renewable, lease_duration: TTL, data: { name } });
  }
}

/**
 * Where Grove sends revocations. A named entrypoint is reached by a service binding alone, never from the internet, so
 * nothing has to be verified. May be called again for an account that is gone.
 */
export class Revocations extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    const { data } = (await request.json()) as { data: { name: string } };
    await this.env.ACCOUNTS.delete(data.name);
    return new Response(null, { status: 204 });
  }
}

function clientAddress(request: Request): { readonly clientAddress?: string } {
  const address = request.headers.get("CF-Connecting-IP");
  return address === null ? {} : { clientAddress: address };
}

function failure(status: number, message: string): Response {
  return Response.json({ errors: [message] }, { status });
}
