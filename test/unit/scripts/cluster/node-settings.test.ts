import { describe, expect, it } from "vitest";
import { ownAddress, parseClusterPlace, readClusterSettings } from "../../../../scripts/serve/cluster/node-settings.ts";
import { CLUSTER_KEY, PLACE } from "./support.ts";

const FLAGS = { cluster: "s3://grove/prod/eu", "cluster-listen": "10.0.0.5:7000" };

const ENVIRONMENT = {
  GROVE_CLUSTER_KEY: CLUSTER_KEY,
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_ENDPOINT_URL: "https://s3.example.com",
};

describe("the flags of a node", () => {
  it("are none for a server that is one process", () => {
    expect(parseClusterPlace({})).toEqual({ ok: true, value: undefined });
  });

  it("name the bucket, the directory in it and the address for other nodes", () => {
    const place = {
      bucket: "grove",
      prefix: "prod/eu",
      listen: { host: "10.0.0.5", port: 7000 },
      advertise: undefined,
    };
    expect(parseClusterPlace(FLAGS)).toEqual({ ok: true, value: place });
    expect(parseClusterPlace({ ...FLAGS, cluster: "s3://grove/prod/eu/" })).toEqual({ ok: true, value: place });
  });

  it("may have every interface with an address to advertise", () => {
    const flags = { ...FLAGS, "cluster-listen": "0.0.0.0:7000", "cluster-advertise": "grove-0.grove:7000" };
    expect(parseClusterPlace(flags)).toMatchObject({
      ok: true,
      value: { advertise: { host: "grove-0.grove", port: 7000 } },
    });
  });

  it.each([
    ["no directory", { cluster: "s3://grove" }, "s3://BUCKET/PREFIX"],
    ["another kind of store", { cluster: "gs://grove/prod" }, "s3://BUCKET/PREFIX"],
    ["a relative directory", { cluster: "s3://grove/a/../b" }, "s3://BUCKET/PREFIX"],
    ["a query", { cluster: "s3://grove/a?b" }, "s3://BUCKET/PREFIX"],
    ["no address", { "cluster-listen": undefined }, "--cluster-listen"],
    ["any free port", { "cluster-listen": "10.0.0.5:0" }, "1 to 65535"],
    ["a public address", { "cluster-listen": "8.8.8.8:7000" }, "not encrypted"],
    ["a public address in IPv6", { "cluster-listen": "[2600::1]:7000" }, "not encrypted"],
    ["a public address to advertise", { "cluster-advertise": "8.8.8.8:7000" }, "not encrypted"],
    ["every interface alone", { "cluster-listen": "0.0.0.0:7000" }, "--cluster-advertise"],
    ["every interface to advertise", { "cluster-advertise": "0.0.0.0:7000" }, "can reach"],
    ["an address without a bucket", { cluster: undefined }, "need --cluster"],
  ])("are refused with %s", (_, change, reason) => {
    expect(parseClusterPlace({ ...FLAGS, ...change })).toEqual({ ok: false, error: expect.stringContaining(reason) });
  });
});

describe("the environment of a node", () => {
  it("has the bucket's settings under the names of workerd", () => {
    expect(readClusterSettings(PLACE, { ...ENVIRONMENT, AWS_REGION: "auto" })).toMatchObject({
      ok: true,
      value: { key: CLUSTER_KEY, region: "auto", allowsHttp: false, timeDivisor: 1 },
    });
  });

  it("leads to the store of the region without an endpoint", () => {
    const settings = readClusterSettings(PLACE, {
      ...ENVIRONMENT,
      AWS_ENDPOINT_URL: undefined,
      AWS_REGION: "eu-west-1",
    });
    expect(settings.ok && settings.value.endpoint.origin).toBe("https://s3.eu-west-1.amazonaws.com");
  });

  it.each(["http://10.0.0.9:9000", "http://127.0.0.1:9000", "http://minio:9000", "http://[fd00::9]:9000"])(
    "may have a bucket without TLS at %s when that is said",
    (endpoint) => {
      const plain = { ...ENVIRONMENT, AWS_ENDPOINT_URL: endpoint };
      expect(readClusterSettings(PLACE, plain)).toEqual({
        ok: false,
        error: expect.stringContaining("AWS_ALLOW_HTTP"),
      });
      expect(readClusterSettings(PLACE, { ...plain, AWS_ALLOW_HTTP: "true" })).toMatchObject({
        ok: true,
        value: { allowsHttp: true },
      });
    },
  );

  it.each([
    ["no cluster key", { GROVE_CLUSTER_KEY: undefined }, "GROVE_CLUSTER_KEY is not set"],
    ["a short cluster key", { GROVE_CLUSTER_KEY: "x".repeat(31) }, "32 to 1024 bytes"],
    ["a short previous key", { GROVE_CLUSTER_KEY_PREVIOUS: "x" }, "GROVE_CLUSTER_KEY_PREVIOUS"],
    ["no credentials", { AWS_SECRET_ACCESS_KEY: "" }, "AWS_CREDENTIALS_FILE"],
    ["an endpoint with a path", { AWS_ENDPOINT_URL: "https://s3.example.com/x" }, "an origin"],
    ["an endpoint that is no URL", { AWS_ENDPOINT_URL: "s3.example.com" }, "an origin"],
    [
      "a public host without TLS",
      { AWS_ENDPOINT_URL: "http://s3.example.com", AWS_ALLOW_HTTP: "true" },
      "private host",
    ],
    ["a public address without TLS", { AWS_ENDPOINT_URL: "http://8.8.8.8", AWS_ALLOW_HTTP: "true" }, "private host"],
    ["a time divisor of 0", { GROVE_CLUSTER_UNSAFE_TIME_DIVISOR: "0" }, "for tests alone"],
  ])("is refused with %s", (_, change, reason) => {
    const settings = readClusterSettings(PLACE, { ...ENVIRONMENT, ...change });
    expect(settings).toEqual({ ok: false, error: expect.stringContaining(reason) });
  });

  it("is never repeated in an error", () => {
    const settings = readClusterSettings(PLACE, { ...ENVIRONMENT, GROVE_CLUSTER_KEY: "short-secret" });
    expect(JSON.stringify(settings)).not.toContain("short-secret");
  });
});

describe("a node's own address", () => {
  it("is that of this machine for every interface", () => {
    expect(ownAddress({ host: "0.0.0.0", port: 1 })).toEqual({ host: "127.0.0.1", port: 1 });
    expect(ownAddress({ host: "::", port: 1 })).toEqual({ host: "::1", port: 1 });
    expect(ownAddress({ host: "10.0.0.5", port: 1 })).toEqual({ host: "10.0.0.5", port: 1 });
  });
});
