import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_STS_SETTINGS, type StsSettings } from "../../../../../src/methods/aws/sts/origin.ts";
import { checkSignedRequest, type SignedRequestFields } from "../../../../../src/methods/aws/sts/signed-request.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

const FORM = "Action=GetCallerIdentity&Version=2011-06-15";
const SIGNATURE = "ab".repeat(32);

const authorization = (region = "us-east-1", signed = "content-type;host;x-amz-date;x-vault-aws-iam-server-id") =>
  `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/${region}/sts/aws4_request, SignedHeaders=${signed}, Signature=${SIGNATURE}`;

/** As the Go client sends it: every value a list. */
const headers: Record<string, unknown> = {
  Authorization: [authorization()],
  "Content-Length": ["43"],
  "Content-Type": ["application/x-www-form-urlencoded; charset=utf-8"],
  "User-Agent": ["aws-sdk-go/1.44"],
  "X-Amz-Date": ["20261121T040000Z"],
  "X-Vault-AWS-IAM-Server-ID": ["grove.example"],
};

type Change = {
  readonly method?: string;
  readonly url?: string;
  readonly body?: string;
  readonly headers?: Record<string, unknown>;
  readonly rawHeaders?: unknown;
};

const post = (change: Change = {}): SignedRequestFields => ({
  iam_http_request_method: change.method ?? "POST",
  iam_request_url: base64(change.url ?? "https://sts.amazonaws.com/"),
  iam_request_body: base64(change.body ?? FORM),
  iam_request_headers: "rawHeaders" in change ? change.rawHeaders : { ...headers, ...change.headers },
});

const query: Record<string, string> = {
  Action: "GetCallerIdentity",
  Version: "2011-06-15",
  "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
  "X-Amz-Credential": "AKIDEXAMPLE/20261121/us-east-1/sts/aws4_request",
  "X-Amz-Date": "20261121T040000Z",
  "X-Amz-Expires": "900",
  "X-Amz-SignedHeaders": "host;x-service-cloud-iam-server-id",
  "X-Amz-Signature": SIGNATURE,
};
const getHeaders: Record<string, unknown> = {
  Host: "sts.amazonaws.com",
  "X-Service-Cloud-IAM-Server-ID": "grove.example",
};

const get = (change: Record<string, string | undefined> = {}, changedHeaders: Record<string, unknown> = {}) => {
  const pairs = Object.entries({ ...query, ...change }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  const encoded = pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  return {
    iam_http_request_method: "GET",
    iam_request_url: base64(`https://sts.amazonaws.com/?${encoded}`),
    iam_request_body: "",
    iam_request_headers: { ...getHeaders, ...changedHeaders },
  };
};

const withServerId: StsSettings = { ...DEFAULT_STS_SETTINGS, iamServerIdHeaderValue: "grove.example" };

/** Some minutes after the requests above were signed. */
const NOW = Date.UTC(2026, 10, 21, 4, 5);
/** When they end. */
const END = Date.UTC(2026, 10, 21, 4, 15);

function check(fields: SignedRequestFields, settings: Partial<StsSettings> = {}, now = NOW) {
  const result = checkSignedRequest(fields, { ...DEFAULT_STS_SETTINGS, ...settings }, now);
  if (result.ok) return result.value;
  return "message" in result.error ? result.error.message : result.error.code;
}

describe("a signed POST", () => {
  it("is put together again, with what STS needs and no more", () => {
    expect(checkSignedRequest(post(), withServerId, NOW)).toEqual({
      ok: true,
      value: {
        method: "POST",
        url: "https://sts.amazonaws.com/",
        headers: {
          authorization: authorization(),
          "content-type": "application/x-www-form-urlencoded; charset=utf-8",
          "x-amz-date": "20261121T040000Z",
          "x-vault-aws-iam-server-id": "grove.example",
        },
        body: FORM,
        partition: "aws",
        signature: SIGNATURE,
        endsAt: Date.UTC(2026, 10, 21, 4, 15) + 1,
      },
    });
  });

  it("may have its headers as JSON text or as base64 of it, values single, and numbers", () => {
    const single = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]]));
    const expected = check(post());
    for (const rawHeaders of [
      JSON.stringify(headers),
      base64(JSON.stringify(headers)),
      single,
      { ...single, "Content-Length": 43 },
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ]) {
      expect(check(post({ rawHeaders }))).toEqual(expected);
    }
  });

  it("may leave out the URL's slash, the version and the type of the form", () => {
    expect(check(post({ url: "https://sts.amazonaws.com" }))).toMatchObject({ url: "https://sts.amazonaws.com/" });
    const short = { body: "Action=GetCallerIdentity", headers: { "Content-Length": "24" } };
    expect(check(post(short))).toMatchObject({ body: "Action=GetCallerIdentity" });
    const { "Content-Type": _, ...untyped } = headers;
    expect(check(post({ rawHeaders: untyped }))).toMatchObject({
      headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
    });
  });

  it("passes the session token of temporary credentials on", () => {
    const fields = post({ headers: { "X-Amz-Security-Token": "IQoJb3JpZ2luX2VjE//+=" } });
    expect(check(fields)).toMatchObject({ headers: { "x-amz-security-token": "IQoJb3JpZ2luX2VjE//+=" } });
  });

  it("works while nothing is configured", () => {
    expect(check(post({ headers: { "X-Vault-AWS-IAM-Server-ID": "another" } }))).toHaveProperty("url");
  });
});

describe("a pre-signed GET", () => {
  it("is put together again", () => {
    expect(checkSignedRequest(get({ "X-Amz-Security-Token": "a/+=b" }), withServerId, NOW)).toEqual({
      ok: true,
      value: {
        method: "GET",
        url:
          "https://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
          "&X-Amz-Credential=AKIDEXAMPLE%2F20261121%2Fus-east-1%2Fsts%2Faws4_request&X-Amz-Date=20261121T040000Z" +
          "&X-Amz-Expires=900&X-Amz-SignedHeaders=host%3Bx-service-cloud-iam-server-id" +
          `&X-Amz-Signature=${SIGNATURE}&X-Amz-Security-Token=a%2F%2B%3Db`,
        headers: { "x-service-cloud-iam-server-id": "grove.example" },
        body: null,
        partition: "aws",
        signature: SIGNATURE,
        endsAt: Date.UTC(2026, 10, 21, 4, 15) + 1,
      },
    });
  });

  it("needs no headers when no server ID is configured", () => {
    expect(check({ ...get({ "X-Amz-SignedHeaders": "host" }), iam_request_headers: {} })).toHaveProperty("url");
  });

  it.each([
    ["no action", get({ Action: undefined })],
    ["another action", get({ Action: "AssumeRole" })],
    ["another version", get({ Version: "2010-05-08" })],
    ["an unknown key", get({ RoleArn: "x" })],
    ["a key in another casing", get({ action: "AssumeRole" })],
    ["an unknown X-Amz key", get({ "X-Amz-Target": "x" })],
    ["no signature", get({ "X-Amz-Signature": undefined })],
    ["a malformed signature", get({ "X-Amz-Signature": "zz" })],
    ["no credential", get({ "X-Amz-Credential": undefined })],
    ["a credential for another service", get({ "X-Amz-Credential": "AKID/20261121/us-east-1/s3/aws4_request" })],
    ["another algorithm", get({ "X-Amz-Algorithm": "AWS4-ECDSA-P256-SHA256" })],
    ["a host that is not signed", get({ "X-Amz-SignedHeaders": "x-amz-date" })],
    ["a malformed expiry", get({ "X-Amz-Expires": "1e9" })],
    ["an Authorization header too", get({}, { Authorization: authorization() })],
    ["a body", { ...get(), iam_request_body: base64(FORM) }],
    ["a content length", get({}, { "Content-Length": "43" })],
    ["no query", { ...get(), iam_request_url: base64("https://sts.amazonaws.com/") }],
  ])("is refused with %s", (_, fields) => {
    expect(typeof check(fields)).toBe("string");
  });

  it.each([
    "Action=GetCallerIdentity&Action=AssumeRole",
    "Action=GetCallerIdentity&Action=GetCallerIdentity",
    "Action=Get+Caller",
    "Action=GetCallerIdentity%00",
    "Action=GetCallerIdentity%",
    "Action=GetCallerIdentity%ff",
    "Action=GetCallerIdentity&",
    "&Action=GetCallerIdentity",
    "Action",
    "Action=GetCallerIdentity#x",
    "%41ction=GetCallerIdentity",
  ])("is refused with the query %s", (start) => {
    const url = Buffer.from(get().iam_request_url, "base64").toString().replace("Action=GetCallerIdentity", start);
    expect(typeof check({ ...get(), iam_request_url: base64(url) })).toBe("string");
  });
});

describe("fields that are missing or malformed", () => {
  it.each([
    ["no method", post({ method: "" }), "missing iam_http_request_method"],
    ["another method", post({ method: "PUT" }), /invalid iam_http_request_method/],
    ["a method in another casing", post({ method: "post" }), /invalid iam_http_request_method/],
    ["no URL", { ...post(), iam_request_url: "" }, "missing iam_request_url"],
    ["a URL that is not base64", { ...post(), iam_request_url: "https://" }, "failed to base64 decode iam_request_url"],
    ["a URL that is none", post({ url: "hello" }), "error parsing iam_request_url"],
    ["no body", { ...post(), iam_request_body: "" }, "missing iam_request_body"],
    ["a body that is not base64", { ...post(), iam_request_body: "?" }, "failed to base64 decode iam_request_body"],
    ["no headers", post({ rawHeaders: undefined }), /iam_request_headers/],
    ["empty headers", post({ rawHeaders: {} }), "missing Authorization header"],
    ["headers of a wrong type", post({ rawHeaders: 5 }), /iam_request_headers/],
    ["headers in a list", post({ rawHeaders: [headers] }), /iam_request_headers/],
    ["headers that are not JSON", post({ rawHeaders: base64("x") }), /iam_request_headers/],
    ["too large headers", post({ rawHeaders: "A".repeat(100_000) }), /iam_request_headers/],
    ["a huge URL", { ...post(), iam_request_url: "A".repeat(100_000) }, /iam_request_url/],
    ["a huge body", { ...post(), iam_request_body: "A".repeat(100_000) }, /iam_request_body/],
    ["a nested value", post({ headers: { "X-Amz-Date": [["x"]] } }), /malformed header/],
    ["an object as a value", post({ headers: { "X-Amz-Date": {} } }), /malformed header/],
    ["an empty list", post({ headers: { "X-Amz-Date": [] } }), /malformed header/],
    ["a line break in a value", post({ headers: { "X-Amz-Date": "x\r\nX-Evil: 1" } }), /malformed header/],
    ["a line break in a name", post({ headers: { "X-A\r\nb": "x" } }), /malformed header/],
    [
      "too many headers",
      post({ headers: Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`a${i}`, "x"])) }),
      /many/,
    ],
  ])("are refused: %s", (_, fields, message) => {
    expect(check(fields)).toMatch(message);
  });
});

describe("the user agent of a browser", () => {
  const agent = "aws-sdk-js/3.1 md/browser#Chrome_120";

  it("is sent when it is signed, and dropped otherwise", () => {
    const signed = authorization(
      "us-east-1",
      "content-type;host;x-amz-date;x-amz-user-agent;x-vault-aws-iam-server-id",
    );
    const sent = check(post({ headers: { Authorization: signed, "X-Amz-User-Agent": agent } }));
    expect(sent).toMatchObject({ headers: { "x-amz-user-agent": agent } });
    const unsigned = check(post({ headers: { "X-Amz-User-Agent": agent } }));
    expect(unsigned).toMatchObject({ headers: expect.not.objectContaining({ "x-amz-user-agent": agent }) });
  });

  it("may be in the query of a pre-signed request", () => {
    const signed = check(get({ "X-Amz-User-Agent": agent }));
    expect(signed).toMatchObject({
      url: expect.stringContaining("&X-Amz-User-Agent=aws-sdk-js%2F3.1%20md%2Fbrowser%23Chrome_120"),
    });
  });
});

describe("what an operator allows", () => {
  const allowed = { allowedStsHeaderValues: ["X-Amz-Custom", "X-Amz-Date", "Action"] };

  it("counts for the query of a pre-signed request as for its headers", () => {
    expect(check(get({ "X-Amz-Custom": "1" }), allowed)).toHaveProperty("url");
    expect(check(get({ "X-Amz-Custom": "1" }))).toBe("query of iam_request_url is invalid");
  });

  it.each(["x-amz-date", "action", "x-amz-CUSTOM"])(
    "does not let in the parameter %s beside its other spelling",
    (name) => {
      expect(check(get({ "X-Amz-Custom": "1", [name]: "1" }), allowed)).toBe("query of iam_request_url is invalid");
    },
  );
});

describe("a request that would make STS answer something else", () => {
  it.each([
    "Action=AssumeRole&Version=2011-06-15",
    "Action=GetCallerIdentity&Action=AssumeRole",
    "Action=AssumeRole&Action=GetCallerIdentity",
    "Action=GetCallerIdentity&RoleArn=x",
    "Action=GetCallerIdentity&action=AssumeRole",
    "Action=GetCallerIdentity&Version=2011-06-15&Version=2011-06-15",
    "Action=GetCallerIdentity&Version=1",
    "Action=GetCallerIdentity;Action=AssumeRole",
    "Action=GetCallerIdentity&",
    "Action=GetCallerIdentity\n",
    "Action=GetCallerIdentity%0a",
    "Action=GetCallerIdentity+",
    "%41ction=GetCallerIdentity",
    "Version=2011-06-15",
    '{"Action":"GetCallerIdentity"}',
    "Action=GetCallerIdentity\u0000",
    "Action=GetCallerIdentity\u00e9",
  ])("by its body: %s", (body) => {
    expect(check(post({ body, headers: { "Content-Length": String(body.length) } }))).toBe(
      "iam request body is invalid",
    );
  });

  it("is refused when its query would", () => {
    expect(check(post({ url: "https://sts.amazonaws.com/?Action=AssumeRole" }))).toBe("invalid request");
    expect(check(post({ url: "https://sts.amazonaws.com/?x" }))).toBe("invalid request");
  });

  it.each(["X-Amz-Target", "X-Amz-Mallory-Header", "X-AMZ-TARGET"])("by the header %s", (name) => {
    expect(check(post({ headers: { [name]: "x" } }))).toMatch(/^invalid request header/);
    expect(check(get({}, { [name]: "x" }))).toMatch(/^invalid request header/);
  });

  it("by another type of body", () => {
    for (const type of [
      "application/json",
      "application/x-amz-json-1.1",
      "text/xml",
      "application/x-www-form-urlencoded; charset=utf-7",
    ]) {
      expect(check(post({ headers: { "Content-Type": type } }))).toMatch(/not a form/);
    }
  });

  it("by a signed header that no client signs", () => {
    const signed = {
      Authorization: authorization("us-east-1", "host;x-http-method-override"),
      "X-HTTP-Method-Override": "PUT",
    };
    expect(check(post({ headers: signed }))).toMatch(/^invalid request header/);
    expect(
      check(post({ headers: { ...signed, Accept: "x" } }), { allowedStsHeaderValues: [" x-http-method-override"] }),
    ).toMatchObject({
      headers: { "x-http-method-override": "PUT" },
    });
  });

  it("by headers that are not signed: they are left out", () => {
    const result = check(
      post({ headers: { Accept: "application/json", Cookie: "x", Connection: "close", "X-Forwarded-For": "1.2.3.4" } }),
    );
    expect(result).toEqual(check(post()));
  });

  it("by an operator's own header: it is accepted when allowed", () => {
    const fields = post({ headers: { "X-Amz-Custom": "1", "x-custom": "2" } });
    expect(check(fields)).toMatch(/^invalid request header/);
    expect(check(fields, { allowedStsHeaderValues: ["X-Amz-Custom", "X-Custom"] })).toMatchObject({
      headers: { "x-amz-custom": "1", "x-custom": "2" },
    });
  });
});

describe("the server ID header", () => {
  const named = (name: string, signed: string, value: unknown = "grove.example") => {
    const { "X-Vault-AWS-IAM-Server-ID": _, ...rest } = headers;
    return post({ rawHeaders: { ...rest, Authorization: authorization("us-east-1", signed), [name]: value } });
  };
  const checked = (fields: SignedRequestFields) => {
    const result = checkSignedRequest(fields, withServerId, NOW);
    if (result.ok) return "accepted";
    return "message" in result.error ? result.error.message : result.error.code;
  };

  it("is accepted under either name", () => {
    expect(checked(named("X-Vault-AWS-IAM-Server-ID", "host;x-vault-aws-iam-server-id"))).toBe("accepted");
    expect(checked(named("X-Service-Cloud-IAM-Server-ID", "host;x-service-cloud-iam-server-id"))).toBe("accepted");
    expect(checked(named("x-service-cloud-iam-server-id", "host;x-service-cloud-iam-server-id"))).toBe("accepted");
    expect(checked(get())).toBe("accepted");
  });

  it("is refused when missing, wrong, unsigned, or signed under another name", () => {
    const signed = "host;x-vault-aws-iam-server-id";
    const name = "X-Vault-AWS-IAM-Server-ID";
    expect(checked(named("X-Other", signed))).toMatch(/missing header "X-Service-Cloud-IAM-Server-ID"/);
    expect(checked(named(name, signed, ""))).toMatch(/not the one/);
    expect(checked(named(name, signed, "evil.example"))).toMatch(/not the one/);
    expect(checked(named(name, signed, "Grove.example"))).toMatch(/not the one/);
    expect(checked(named(name, signed, ["grove.example", "x"]))).toMatch(/not the one/);
    expect(checked(named(name, "host;x-amz-date"))).toMatch(/wasn't signed/);
    expect(checked(named(name, "host;x-vault-aws-iam-server-id2"))).toMatch(/wasn't signed/);
    expect(checked(named(name, "host;x-service-cloud-iam-server-id"))).toMatch(/wasn't signed/);
    expect(checked(get({ "X-Amz-SignedHeaders": "host" }))).toMatch(/wasn't signed/);
  });

  it("is refused when the second name carries something else", () => {
    const both = { "X-Service-Cloud-IAM-Server-ID": "evil.example" };
    expect(checked(post({ headers: both }))).toMatch(/not the one/);
    expect(checked(post({ headers: { "X-Service-Cloud-IAM-Server-ID": "grove.example" } }))).toMatch(/wasn't signed/);
  });

  it("does not hide behind a second Authorization or a second list of signed headers", () => {
    const good = authorization();
    expect(checked(post({ headers: { Authorization: [good, good] } }))).toMatch(/more than one Authorization/);
    expect(checked(post({ headers: { authorization: good } }))).toMatch(/header twice/);
    const twice = good.replace("Signature=", "SignedHeaders=host, Signature=");
    expect(checked(post({ headers: { Authorization: twice } }))).toMatch(/not a signature/);
    const repeated = authorization("us-east-1", "host;host");
    expect(checked(post({ headers: { Authorization: repeated } }))).toMatch(/names a header twice/);
    for (const change of [
      (text: string) => `${text}, SignedHeaders=x`,
      (text: string) => `Basic x, ${text}`,
      (text: string) => text.replace("SignedHeaders=", "signedheaders="),
      (text: string) => text.replace("host", "Host"),
      (text: string) => text.replace("host;", ""),
      (text: string) => text.replace("/sts/", "/s3/"),
      (text: string) => text.replace("aws4_request", "aws5_request"),
      (text: string) => text.replace(SIGNATURE, SIGNATURE.slice(1)),
      (text: string) => text.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"),
      () => "",
    ]) {
      expect(checked(post({ headers: { Authorization: change(good) } }))).not.toBe("accepted");
    }
  });

  it("is refused when the JSON text repeats a header", () => {
    const text = JSON.stringify(headers).replace("{", '{"x-vault-aws-iam-server-id":"evil",');
    expect(checked(post({ rawHeaders: text }))).toMatch(/iam_request_headers/);
  });
});

describe("a request that would go to another host", () => {
  it.each([
    "https://evil.example/",
    "https://sts.amazonaws.com.evil.example/",
    "https://evil.example/sts.amazonaws.com",
    "https://evilsts.amazonaws.com/",
    "https://evil.amazonaws.com/",
    "https://sts.evil-region-1.amazonaws.com/",
    "http://sts.amazonaws.com/",
    "ftp://sts.amazonaws.com/",
    "//sts.amazonaws.com/",
    "sts.amazonaws.com",
    "https:sts.amazonaws.com",
    "https://sts.amazonaws.com//evil.example/",
    "https://sts.amazonaws.com/path",
    "https://sts.amazonaws.com/..",
    "https://sts.amazonaws.com/%2e",
    "https://sts.amazonaws.com@evil.example/",
    "https://user@sts.amazonaws.com/",
    "https://user:pass@sts.amazonaws.com/",
    "https://sts.amazonaws.com:443/",
    "https://sts.amazonaws.com:8443/",
    "https://sts.amazonaws.com\\@evil.example/",
    "https://evil.example\\.sts.amazonaws.com/",
    "https://sts.amazonaws.com/#x",
    "https://sts.amazonaws.com#@evil.example/",
    "https://sts.amazonaws.com./",
    "https://STS.amazonaws.com/",
    "HTTPS://sts.amazonaws.com/",
    " https://sts.amazonaws.com/",
    "https://sts.amazonaws.com/\n",
    "https://sts\t.amazonaws.com/",
    "https://sts.amazonaws.com\u0000/",
    "https://[::1]/",
    "https://169.254.169.254/",
    "https://127.0.0.1/",
    "https://sts。amazonaws。com/",
    "javascript:alert(1)",
  ])("is refused at %s", (url) => {
    expect(typeof check(post({ url }))).toBe("string");
  });

  it("by a Host header that differs from the URL", () => {
    expect(check(post({ headers: { Host: "evil.example" } }))).toMatch(/Host header is not the host/);
    expect(check(post({ headers: { Host: ["sts.amazonaws.com", "evil.example"] } }))).toMatch(/Host header/);
    expect(check(post({ headers: { Host: "sts.amazonaws.com" } }))).toHaveProperty("url");
  });

  it("by a length that differs from the body's", () => {
    expect(check(post({ headers: { "Content-Length": "5" } }))).toMatch(/Content-Length/);
  });
});

describe("the region", () => {
  const at = (host: string, region: string) =>
    post({ url: `https://${host}/`, headers: { Authorization: authorization(region) } });

  it("of the signature must be the one of the host", () => {
    expect(check(at("sts.eu-west-1.amazonaws.com", "eu-west-1"))).toMatchObject({ partition: "aws" });
    expect(check(at("sts.cn-north-1.amazonaws.com.cn", "cn-north-1"))).toMatchObject({ partition: "aws-cn" });
    expect(check(at("sts.us-gov-west-1.amazonaws.com", "us-gov-west-1"))).toMatchObject({ partition: "aws-us-gov" });
    expect(check(at("sts-fips.us-east-2.amazonaws.com", "us-east-2"))).toHaveProperty("url");
    expect(check(at("sts.eu-west-1.amazonaws.com", "us-east-1"))).toMatch(/not the region of the STS host/);
    expect(check(at("sts.amazonaws.com", "eu-west-1"))).toMatch(/not the region of the STS host/);
    expect(check(at("sts.amazonaws.com", "fake-region-1"))).toMatch(/unable to get regional STS endpoint/);
  });

  it("of the client wins over the configured endpoint when that is set", () => {
    const settings = {
      stsEndpoint: "https://sts.us-east-1.amazonaws.com",
      stsRegion: "us-east-1",
      useStsRegionFromClient: true,
    };
    expect(check(at("sts.eu-west-1.amazonaws.com", "eu-west-1"), settings)).toMatchObject({
      url: "https://sts.eu-west-1.amazonaws.com/",
    });
    expect(check(at("evil.example", "eu-west-1"), settings)).toMatch(/known STS host/);
    expect(check(at("sts.fake-region-1.amazonaws.com", "fake-region-1"), settings)).toMatch(/unable to get regional/);
  });
});

describe("a configured endpoint", () => {
  const endpoint = (stsEndpoint: string, stsRegion = "us-east-1") => ({ stsEndpoint, stsRegion });

  it("is where the request goes, when it was signed for it", () => {
    const url = "https://vpce-1.sts.us-east-1.vpce.amazonaws.com/";
    expect(check(post({ url }), endpoint(url))).toMatchObject({ url });
    expect(check(post({ url: "http://127.0.0.1:4566/" }), endpoint("http://127.0.0.1:4566"))).toMatchObject({
      url: "http://127.0.0.1:4566/",
    });
    expect(check(post({ url: "https://127.0.0.1:4566/" }), endpoint("http://127.0.0.1:4566"))).toMatch(/configured/);
    expect(check(post({ url: "http://127.0.0.1:4567/" }), endpoint("http://127.0.0.1:4566"))).toMatch(/configured/);
    expect(check(post({ url: "https://evil.example/" }), endpoint(url))).toMatch(/configured sts_endpoint/);
  });

  it("of the operator's own may take requests that were signed for STS", () => {
    expect(check(post(), endpoint("https://sts-proxy.internal"))).toMatchObject({ url: "https://sts-proxy.internal/" });
    expect(check(post({ url: "http://sts.amazonaws.com/" }), endpoint("https://sts-proxy.internal"))).toMatch(
      /configured/,
    );
  });

  it("may have a path, which then stands before that of the request", () => {
    expect(check(post(), endpoint("https://gateway.example/aws/sts/"))).toMatchObject({
      url: "https://gateway.example/aws/sts/",
    });
    expect(check(post({ url: "https://gateway.example/other/" }), endpoint("https://gateway.example/sts"))).toMatch(
      /error parsing iam_request_url/,
    );
  });

  it("of the cloud takes only requests that were signed for it", () => {
    expect(check(post(), endpoint("https://sts.us-east-1.amazonaws.com"))).toMatch(/configured sts_endpoint/);
  });

  it("keeps to its region", () => {
    expect(check(post(), endpoint("https://sts-proxy.internal", "eu-west-1"))).toMatch(/configured sts_region/);
    expect(check(post(), endpoint("https://sts-proxy.internal", ""))).toHaveProperty("url");
  });

  it("that can't be read refuses every login", () => {
    for (const url of [
      "sts.amazonaws.com",
      "https://a/../b",
      "https://u@a",
      "https://a?b",
      "file:///etc",
      "https://a#b",
      "https://",
    ]) {
      expect(check(post(), endpoint(url))).toMatch(/sts_endpoint can't be read/);
    }
  });
});

describe("refusals", () => {
  it("repeat neither what was sent nor the configured server ID", () => {
    const secret = "zz-secret-zz";
    for (const fields of [
      post({ headers: { "X-Vault-AWS-IAM-Server-ID": secret } }),
      post({ headers: { [`X-Amz-${secret}`]: secret } }),
      post({ url: `https://${secret}/` }),
      post({ body: secret }),
      post({ method: secret }),
      post({ rawHeaders: secret }),
      post({ headers: { Authorization: secret } }),
      post({ headers: { Authorization: authorization(secret) } }),
      post({ headers: { Host: secret } }),
    ]) {
      const message = checkSignedRequest(fields, withServerId, NOW);
      expect(message.ok).toBe(false);
      expect(JSON.stringify(message)).not.toMatch(/zz-secret|grove\.example/i);
    }
  });
});

describe("the age of a signed request", () => {
  const minute = 60_000;
  it.each([
    ["POST", post()],
    ["pre-signed GET", get()],
  ])("of a %s may be 15 minutes, by clocks that differ in either direction", (_, fields) => {
    expect(check(fields, {}, END)).toHaveProperty("url");
    expect(check(fields, {}, END - 30 * minute)).toHaveProperty("url");
    expect(check(fields, {}, END + 1)).toMatch(/X-Amz-Date is more than 15 minutes away/);
    expect(check(fields, {}, END - 30 * minute - 1)).toMatch(/X-Amz-Date is more than 15 minutes away/);
  });

  it("is asked of a date that is there and complete", () => {
    for (const date of ["", "20261121", "20261121T040000", "20261321T040000Z", "20261121T040000Z,20261121T040000Z"]) {
      expect(check(post({ headers: { "X-Amz-Date": [date] } }))).toMatch(/X-Amz-Date is missing or malformed/);
    }
    expect(check(get({ "X-Amz-Date": undefined }))).toMatch(/X-Amz-Date is missing or malformed/);
  });

  it("is no longer than 15 minutes whatever a pre-signed URL says", () => {
    expect(check(get({ "X-Amz-Expires": "901" }))).toMatch(/X-Amz-Expires/);
    expect(check(get({ "X-Amz-Expires": "604800" }))).toMatch(/X-Amz-Expires/);
    expect(check(get({ "X-Amz-Expires": "60" }))).toHaveProperty("url");
  });
});

describe("whatever is sent", () => {
  it("is answered without an exception", () => {
    const text = fc.oneof(fc.string(), fc.base64String(), fc.webUrl().map(base64), fc.json().map(base64));
    const method = fc.constantFrom("GET", "POST", "");
    fc.assert(
      fc.property(
        method,
        text,
        text,
        fc.oneof(text, fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue())),
        (m, url, body, sent) => {
          const fields = {
            iam_http_request_method: m,
            iam_request_url: url,
            iam_request_body: body,
            iam_request_headers: sent,
          };
          expect(checkSignedRequest(fields, withServerId, NOW).ok).toBe(false);
          expect(typeof check({ ...post(), iam_request_headers: sent })).toBe("string");
          expect(typeof check({ ...post(), iam_request_body: body })).toBe("string");
          expect(typeof check({ ...post(), iam_request_url: url })).toBe("string");
        },
      ),
      { numRuns: 1000 },
    );
  });
});

it("ends at the first moment at which it is too old to be taken", () => {
  const request = checkSignedRequest(post(), withServerId, NOW);
  if (!request.ok) throw new Error("the request is refused");
  const { endsAt } = request.value;
  expect(checkSignedRequest(post(), withServerId, endsAt - 1).ok).toBe(true);
  expect(checkSignedRequest(post(), withServerId, endsAt).ok).toBe(false);
});
