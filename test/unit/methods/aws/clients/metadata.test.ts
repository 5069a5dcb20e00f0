import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../../../src/env.ts";
import {
  containerCredentials,
  forgetServerCredentials,
  instanceCredentials,
  serverCredentials,
} from "../../../../../src/methods/aws/clients/server-credentials.ts";

const DOCUMENT = {
  Code: "Success",
  AccessKeyId: "ASIAMETA",
  SecretAccessKey: "secret",
  Token: "token",
  Expiration: "2026-11-21T12:00:00Z",
};
const CREDENTIALS = {
  accessKeyId: "ASIAMETA",
  secretAccessKey: "secret",
  sessionToken: "token",
  expiresAt: Date.UTC(2026, 10, 21, 12),
};

let asked: Request[];
let answers: Record<string, string>;
const env = (settings: Partial<Env>) => settings as Env;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 10) });
  asked = [];
  answers = {};
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const request = input as Request;
    asked.push(request);
    const text = answers[`${request.method} ${request.url}`];
    return text === undefined ? new Response("", { status: 404 }) : new Response(text);
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  forgetServerCredentials();
});

function serveInstance(host = "http://169.254.169.254"): void {
  answers[`PUT ${host}/latest/api/token`] = "imds-token";
  answers[`GET ${host}/latest/meta-data/iam/security-credentials/`] = "Server\n";
  answers[`GET ${host}/latest/meta-data/iam/security-credentials/Server`] = JSON.stringify(DOCUMENT);
}

describe("credentials of the instance", () => {
  it("are read with a token", async () => {
    serveInstance();
    expect(await instanceCredentials(env({ CLOUD_METADATA_CREDENTIALS: "true" }))).toEqual(CREDENTIALS);
    expect(asked.map((request) => request.headers.get("X-aws-ec2-metadata-token"))).toEqual([
      null,
      "imds-token",
      "imds-token",
    ]);
    expect(asked[0]?.headers.get("X-aws-ec2-metadata-token-ttl-seconds")).toBe("60");
  });

  it("are only asked for where the setting says so, at the place that it says", async () => {
    serveInstance("http://127.0.0.1:1338");
    const endpoint = { AWS_EC2_METADATA_SERVICE_ENDPOINT: "http://127.0.0.1:1338/" };
    expect(await instanceCredentials(env(endpoint))).toBeNull();
    expect(asked).toEqual([]);
    expect(await instanceCredentials(env({ ...endpoint, CLOUD_METADATA_CREDENTIALS: "true" }))).toEqual(CREDENTIALS);
  });

  it.each([
    ["no token", () => delete answers["PUT http://169.254.169.254/latest/api/token"]],
    ["no role", () => delete answers["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/"]],
    ["a strange role", () => setRole("../../user-data")],
    ["no document", () => setRole("Other")],
    ["half a document", () => setDocument({ ...DOCUMENT, Token: undefined })],
    ["no time", () => setDocument({ ...DOCUMENT, Expiration: "soon" })],
  ])("are none with %s", async (_, arrange) => {
    serveInstance();
    arrange();
    expect(await instanceCredentials(env({ CLOUD_METADATA_CREDENTIALS: "true" }))).toBeNull();
  });

  function setRole(name: string): void {
    answers["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/"] = name;
  }
  function setDocument(document: object): void {
    answers["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/Server"] = JSON.stringify(document);
  }
});

describe("credentials of the container", () => {
  it("are read from the relative address of its platform", async () => {
    answers["GET http://169.254.170.2/v2/credentials/1"] = JSON.stringify(DOCUMENT);
    expect(await containerCredentials(env({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/v2/credentials/1" }))).toEqual(
      CREDENTIALS,
    );
  });

  it("are read from a full address, with its token", async () => {
    answers["GET http://169.254.170.23/v1/credentials"] = JSON.stringify(DOCUMENT);
    const settings = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "container-token",
    };
    expect(await containerCredentials(env(settings))).toEqual(CREDENTIALS);
    expect(asked[0]?.headers.get("Authorization")).toBe("container-token");
  });

  it("are not asked for at an address without TLS that is none of a container", async () => {
    for (const url of ["http://evil.example/", "ftp://169.254.170.2/", "nonsense"]) {
      expect(await containerCredentials(env({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }))).toBeNull();
    }
    expect(asked).toEqual([]);
  });
});

describe("credentials of the server", () => {
  const settings = env({ CLOUD_METADATA_CREDENTIALS: "true" });

  it("are kept until shortly before they end", async () => {
    serveInstance();
    for (let at = 0; at < 3; at++) expect(await serverCredentials(settings)).toEqual({ ok: true, value: CREDENTIALS });
    expect(asked).toHaveLength(3);
    vi.setSystemTime(CREDENTIALS.expiresAt - 4 * 60_000);
    await serverCredentials(settings);
    expect(asked).toHaveLength(6);
  });

  it("that do not exist are looked for again after a while only", async () => {
    for (let at = 0; at < 3; at++) expect((await serverCredentials(settings)).ok).toBe(false);
    expect(asked).toHaveLength(1);
    serveInstance();
    vi.setSystemTime(Date.now() + 31_000);
    expect((await serverCredentials(settings)).ok).toBe(true);
  });

  it.each([
    ["CLOUD_ACCESS_KEY", "AK\nIA"],
    ["CLOUD_ACCESS_KEY", "\u201cAKIA\u201d"],
    ["CLOUD_SESSION_TOKEN", "secret\nx"],
  ])("are refused where %s has what no header can carry", async (name, text) => {
    const keys = { CLOUD_ACCESS_KEY: "AKIA1", CLOUD_SECRET_KEY: "s", [name]: text };
    const refused = await serverCredentials({ ...settings, ...keys });
    expect(refused).toMatchObject({ ok: false, error: { message: expect.stringContaining("no key has") } });
    expect(JSON.stringify(refused)).not.toContain(text);
  });

  it("of a container are not asked for with such a token", async () => {
    const container = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "\u201ccontainer-token\u201d",
    };
    expect(await containerCredentials(env(container))).toBeNull();
    expect(asked).toEqual([]);
  });

  it("come from the settings first", async () => {
    serveInstance();
    const keys = { ...settings, CLOUD_ACCESS_KEY: "AKIA1", CLOUD_SECRET_KEY: "s", AWS_ACCESS_KEY_ID: "AKIA2" };
    expect(await serverCredentials(env(keys))).toMatchObject({ value: { accessKeyId: "AKIA1", sessionToken: null } });
    expect(asked).toEqual([]);
  });
});
