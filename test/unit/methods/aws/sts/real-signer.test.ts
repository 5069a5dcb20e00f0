import { AwsClient } from "aws4fetch";
import { describe, expect, it } from "vitest";
import { DEFAULT_STS_SETTINGS } from "../../../../../src/methods/aws/sts/origin.ts";
import { checkSignedRequest } from "../../../../../src/methods/aws/sts/signed-request.ts";

const FORM = "Action=GetCallerIdentity&Version=2011-06-15";
const base64 = (text: string) => Buffer.from(text).toString("base64");
const client = new AwsClient({
  accessKeyId: "ASIAEXAMPLE",
  secretAccessKey: "secret",
  sessionToken: "IQoJb3JpZ2luX2VjE//8=+",
  service: "sts",
  region: "eu-west-1",
});
const settings = { ...DEFAULT_STS_SETTINGS, iamServerIdHeaderValue: "grove.example" };
const serverId = { "X-Vault-AWS-IAM-Server-ID": "grove.example" };

/** The headers as `fetch` would send them; the server ID is signed because all headers are. */
const signOptions = { allHeaders: true };

describe("a request of a real signer", () => {
  it("is accepted as POST, with temporary credentials", async () => {
    const request = await client.sign("https://sts.eu-west-1.amazonaws.com/", {
      method: "POST",
      body: FORM,
      headers: { ...serverId, "Content-Type": "application/x-www-form-urlencoded; charset=utf-8" },
      aws: signOptions,
    });
    const result = checkSignedRequest(
      {
        iam_http_request_method: request.method,
        iam_request_url: base64(request.url),
        iam_request_body: base64(FORM),
        iam_request_headers: base64(JSON.stringify(Object.fromEntries(request.headers))),
      },
      settings,
      Date.now(),
    );
    expect(result).toMatchObject({ ok: true, value: { url: request.url, body: FORM, method: "POST" } });
    expect(result.ok && result.value.headers).toEqual(Object.fromEntries(request.headers));
  });

  it("is accepted as a pre-signed GET", async () => {
    const request = await client.sign(`https://sts.eu-west-1.amazonaws.com/?${FORM}`, {
      method: "GET",
      headers: serverId,
      aws: { ...signOptions, signQuery: true },
    });
    const result = checkSignedRequest(
      {
        iam_http_request_method: "GET",
        iam_request_url: base64(request.url),
        iam_request_body: "",
        iam_request_headers: serverId,
      },
      settings,
      Date.now(),
    );
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    expect(result.value.headers).toEqual({ "x-vault-aws-iam-server-id": "grove.example" });
    expect([...new URL(result.value.url).searchParams]).toEqual([...new URL(request.url).searchParams]);
  });
});
