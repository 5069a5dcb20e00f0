import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { generateKeyPair, SignJWT } from "jose";

/** A fake API server of Kubernetes. It runs in this process, so that its CPU time is not measured. */
export interface LocalCluster {
  /** Origin, for example `http://127.0.0.1:6443`. */
  readonly url: string;
  /** The token of the service account `job` in the namespace `bench`, valid for twelve hours. */
  readonly jwt: string;
  stop(): Promise<void>;
}

const ACCOUNT = { namespace: "bench", name: "job", uid: "6fb1c3f0-5c1d-4d3e-9d8a-0f0f0f0f0f0f" };
const NAME = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;
const ISSUER = "https://kubernetes.default.svc";

/** Starts an API server that answers every TokenReview with the same service account. */
export async function startCluster(): Promise<LocalCluster> {
  const user = { username: NAME, uid: ACCOUNT.uid, groups: ["system:serviceaccounts"] };
  const status = { authenticated: true, user, audiences: [ISSUER] };
  const review = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status });
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(201, { "Content-Type": "application/json" }).end(review);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const { namespace, name, uid } = ACCOUNT;
  const claims = new SignJWT({ "kubernetes.io": { namespace, serviceaccount: { name, uid } } })
    .setProtectedHeader({ alg: "RS256", kid: "a-key" })
    .setIssuer(ISSUER)
    .setSubject(NAME)
    .setAudience([ISSUER])
    .setIssuedAt();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    jwt: await claims.setExpirationTime("12h").sign(privateKey),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
