import { describe, expect, it } from "vitest";
import { refusalLine } from "../../../gateway/refusal.ts";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

const NOW = Date.parse("2026-11-21T10:00:00.000Z");

describe("the record of a refusal", () => {
  it("says what was asked for by whom, and what was answered", () => {
    const head = { method: "LIST", target: "/v1/auth/token/accessors?after=x" };
    expect(refusalLine({ status: 503, message: "busy" }, head, "192.0.2.7", NOW)).toEqual({
      type: "gateway",
      time: "2026-11-21T10:00:00.000Z",
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      operation: "list",
      path: "auth/token/accessors",
      status: 503,
      error: "busy",
      client_address: "192.0.2.7",
    });
  });

  it.each([
    [undefined, ""],
    ["/v1/sys/health?token=s.secret", "sys/health"],
    ["/v1/auth/token/lookup/s.secret", "auth/token/lookup/<unknown>"],
    ["/v1/auth%2Ftoken/lookup/secret", "auth/token/lookup/<unknown>"],
    ["/v1/sys/x/hvs.secret", "sys/<unknown>"],
    ["/v1/sys/renew/secret/of/mine", "sys/renew/<unknown>"],
    ["/api/v2/teams/team-1/authentication-token", "teams/<unknown>/authentication-token"],
    ["/v1/%ff", "<malformed>"],
    [`/v1/${"a".repeat(5000)}`, "<malformed>"],
  ])("holds no secret of the path: %s", (target, path) => {
    const head = target === undefined ? undefined : { method: "GET", target };
    const line = refusalLine({ status: 400 }, head, "192.0.2.7", NOW);
    expect(line.path).toBe(path);
    expect(JSON.stringify(line)).not.toContain("secret");
  });

  it("is one line for each request that the gateway answers itself, and none for others", async () => {
    const { url } = await startRecorder();
    const lines: string[] = [];
    const { port } = await startTestGateway(url, { maxBodyBytes: 10, audit: (line) => lines.push(line) });
    const cases = [
      request("GET /v1/a"),
      request("TRACE /v1/b"),
      request("POST /v1/c", "Content-Length: 11"),
      request("GET /cdn-cgi/x"),
      `${request("POST /v1/d", "Content-Length: 2")}{}`,
    ];
    for (const bytes of cases) {
      const client = await RawClient.connect(port);
      await client.send(bytes);
      await client.answer();
      client.socket.destroy();
    }
    expect(lines.map((line) => JSON.parse(line)).map(({ status, path }) => [status, path])).toEqual([
      [405, ""],
      [413, "<unknown>"],
      [404, "/<unknown>"],
    ]);
  });
});

describe("a refusal", () => {
  it("has the shape that the client of its path reads", async () => {
    const { url } = await startRecorder();
    const { port } = await startTestGateway(url, { maxBodyBytes: 10 });
    const client = await RawClient.connect(port);
    await client.send(request("POST /api/v2/teams", "Content-Length: 11"));
    const answer = await client.answer();
    expect(answer.headers.get("content-type")).toBe("application/vnd.api+json");
    expect(JSON.parse(answer.body)).toEqual({
      errors: [{ status: "413", title: "payload too large", detail: "http: request body too large" }],
    });
  });
});

describe("the date", () => {
  it("is in every answer, the gateway's own included, and the service's own stays", async () => {
    const { url } = await startService((incoming, response) => {
      response.sendDate = false;
      if (incoming.url === "/v1/dated") response.setHeader("Date", "Sat, 21 Nov 2026 10:00:00 GMT");
      response.end();
    });
    const { port } = await startTestGateway(url);
    const dateOf = async (bytes: string) => {
      const client = await RawClient.connect(port);
      await client.send(bytes);
      return (await client.answer()).headers.get("date") ?? "";
    };
    expect(await dateOf(request("GET /v1/dated"))).toBe("Sat, 21 Nov 2026 10:00:00 GMT");
    for (const bytes of [request("GET /v1/undated"), request("TRACE /v1/a"), "nonsense\r\n"]) {
      const date = await dateOf(bytes);
      expect(date).toMatch(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
      expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(60_000);
    }
  });
});
