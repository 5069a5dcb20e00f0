import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { signCaller } from "../../../test/support/cloud-login.ts";
import type { LoadRequest } from "../load/request.ts";
import { call } from "../servers/call.ts";
import { startCloud } from "../servers/cloud.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import { type Bench, CONNECTIONS } from "./bench.ts";

/** What a request of somebody without a token costs. */
export interface AnonymousCost {
  readonly title: string;
  /** As answered: "400", or several with a slash between. */
  readonly statuses: string;
  /** CPU time of the server process for one, in microseconds; the median of the rounds. */
  readonly cpuMicros: number;
}

/** All of a corpus, and the login that they are compared with. */
export interface AnonymousCosts {
  readonly login: AnonymousCost;
  readonly requests: readonly AnonymousCost[];
}

/** Requests that anybody may send, each as large or as unusual as the limits allow. */
interface Attack {
  readonly title: string;
  readonly request: Omit<LoadRequest, "label">;
}

const KIB = 1024;
const LOGIN = "/v1/auth/cloud/login";

/** Measures what the dearest requests without a token cost beside a login of a machine. */
export async function measureAnonymous(bench: Bench): Promise<AnonymousCosts> {
  const grove = await GroveServer.start(bench.build, `${bench.directory}/anonymous`);
  const cloud = await startCloud(grove);
  const hostile = await startHostileEndpoint();
  try {
    const attacks = [...attacksOn(cloud.service), await hostileLogin(grove, hostile)];
    const login = cloud.service.map((request) => ({ ...request, label: "login" }));
    const rounds: { login: AnonymousCost[]; requests: AnonymousCost[][] } = { login: [], requests: [] };
    // Round 0 warms up.
    for (let round = 0; round <= bench.rounds; round++) {
      bench.say(round === 0 ? "anonymous: warming up" : `anonymous: round ${round} of ${bench.rounds}`);
      const one = await measure(bench, grove, "a login by a vm document", login);
      const all: AnonymousCost[] = [];
      for (const { title, request } of attacks) {
        all.push(await measure(bench, grove, title, [{ ...request, label: "attack" }]));
      }
      if (round === 0) continue;
      rounds.login.push(one);
      rounds.requests.push(all);
    }
    return {
      login: middle(rounds.login),
      requests: attacks.map((_, at) => middle(rounds.requests.flatMap((round) => round[at] ?? []))),
    };
  } finally {
    hostile.close();
    await cloud.stop();
    await grove.stop();
  }
}

async function measure(
  { load, seconds }: Bench,
  grove: GroveServer,
  title: string,
  requests: readonly LoadRequest[],
): Promise<AnonymousCost> {
  const before = grove.usage().cpuSeconds;
  const { labels } = await load.run({
    place: grove.place,
    seconds,
    streams: [{ connections: CONNECTIONS, requests, spread: true }],
  });
  const cpuSeconds = grove.usage().cpuSeconds - before;
  const results = Object.values(labels);
  const total = results.reduce((sum, { count }) => sum + count, 0);
  const statuses = [...new Set(results.flatMap(({ statuses: all }) => Object.keys(all)))].sort();
  if (total === 0) throw new Error(`${title}: nothing was answered`);
  if (statuses.some((status) => status.startsWith("5"))) throw new Error(`${title}: answered ${statuses.join()}`);
  return { title, statuses: statuses.join("/"), cpuMicros: (cpuSeconds * 1e6) / total };
}

function middle(costs: readonly AnonymousCost[]): AnonymousCost {
  const [first] = costs;
  if (!first) throw new Error("there is a round");
  return { ...first, cpuMicros: median(costs.map(({ cpuMicros }) => cpuMicros)) };
}

/** @param logins genuine ones of a machine. */
function attacksOn(logins: readonly LoadRequest[]): Attack[] {
  const [genuine] = logins;
  const { pkcs7, role } = (genuine?.body ?? {}) as { pkcs7: string; role: string };
  const message = Buffer.from(pkcs7, "base64");
  const post = (title: string, path: string, body: unknown, token?: string): Attack => ({
    title,
    request: { method: "POST", path, body, ...(token !== undefined && { token }) },
  });
  const login = (title: string, fields: Record<string, unknown>) => post(title, LOGIN, { role, ...fields });
  const deep = JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`) as unknown;
  const rules = 'path "secret/+/data/*" { capabilities = ["create", "read"] }\n'.repeat(4000);
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`field-${at}`, "x".repeat(1000)]));
  return [
    login("a document with a signature that is wrong in its last byte", { pkcs7: withLastByteChanged(message) }),
    login("a document of 290 elements", { pkcs7: manyElements(290) }),
    login("a document of 8 KiB in one element", { pkcs7: oneElement(8 * KIB - 16) }),
    login("a document of 700 KiB", { pkcs7: "A".repeat(700 * KIB) }),
    login("a signed request of 16 KiB of headers", {
      role: "iam",
      iam_http_request_method: "POST",
      iam_request_url: Buffer.from("https://sts.amazonaws.com/").toString("base64"),
      iam_request_body: Buffer.from("Action=GetCallerIdentity&Version=2011-06-15").toString("base64"),
      iam_request_headers: Buffer.from(JSON.stringify({ "X-Amz-Date": "y".repeat(11 * KIB) })).toString("base64"),
    }),
    post("JSON of 900 texts, 900 KB", LOGIN, { role, ...many }),
    post("JSON of 19,000 numbers", LOGIN, { role, list: Array.from({ length: 19_000 }, (_, at) => at) }),
    post("JSON that is 60 lists deep, 160 times", LOGIN, { role, list: Array.from({ length: 160 }, () => deep) }),
    {
      title: "a form of 990 fields, 900 KB",
      request: { method: "POST", path: LOGIN, form: `role=${role}${`&field=${"%41".repeat(300)}`.repeat(990)}` },
    },
    { title: "a query of 2,000 characters", request: { method: "GET", path: `/v1/sys/health?${"a=1&".repeat(480)}` } },
    post("a policy of 4,000 rules by nobody", "/v1/sys/policies/acl/x", { policy: rules }),
    post(
      "a policy of 4,000 rules by a forged token",
      "/v1/sys/policies/acl/x",
      { policy: rules },
      `s.${"A".repeat(84)}`,
    ),
    post(
      "a batch token of 8,000 characters that nobody made",
      "/v1/auth/token/lookup-self",
      {},
      `b.${"A".repeat(7900)}`,
    ),
    post("a wrapped answer that is none", "/v1/sys/wrapping/unwrap", { token: `s.${"A".repeat(84)}` }),
  ];
}

function withLastByteChanged(message: Buffer): string {
  const changed = Buffer.from(message);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  return changed.toString("base64");
}

/** A sequence of so many NULLs. */
function manyElements(count: number): string {
  const nulls = Buffer.alloc(2 * count, Buffer.from([5, 0]));
  return Buffer.concat([Buffer.from([0x30, 0x82, nulls.length >> 8, nulls.length & 0xff]), nulls]).toString("base64");
}

/** A sequence with one text of so many bytes. */
function oneElement(bytes: number): string {
  const size = (length: number) => [0x82, length >> 8, length & 0xff];
  const text = Buffer.alloc(bytes, 0x41);
  return Buffer.concat([Buffer.from([0x30, ...size(bytes + 4), 4, ...size(bytes)]), text]).toString("base64");
}

/** An endpoint that a mount was pointed at, and that answers with as much XML as it is let. */
async function startHostileEndpoint(): Promise<Server> {
  const body = `<GetCallerIdentityResponse>${"<a>".repeat(30)}${"<b>x</b>".repeat(30_000)}`;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Type": "text/xml" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** A login whose signed request goes to that endpoint. */
async function hostileLogin(grove: GroveServer, hostile: Server): Promise<Attack> {
  const endpoint = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  const write = async (path: string, body: unknown): Promise<void> => {
    const { status } = await call(grove, "POST", path, body);
    if (status >= 300) throw new Error(`${path} answered ${status}`);
  };
  await write("sys/auth/hostile", { type: "aws" });
  await write("sys/quotas/rate-limit/hostile", { path: "auth/hostile", rate: 1_000_000 });
  await write("auth/hostile/config/client", { sts_endpoint: endpoint, sts_region: "us-east-1" });
  await write("auth/hostile/role/web", {
    auth_type: "iam",
    bound_iam_principal_arn: "arn:aws:iam::111111111111:role/web",
    resolve_aws_unique_ids: false,
  });
  const key = { id: "AKIAEXAMPLE", secret: "x".repeat(40), token: null };
  const signed = await signCaller(key as never);
  return {
    title: "a signed request, with 240 KB of XML from a hostile endpoint",
    request: { method: "POST", path: "/v1/auth/hostile/login", body: { role: "web", ...signed } },
  };
}
