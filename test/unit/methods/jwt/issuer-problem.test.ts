import { describe, expect, it } from "vitest";
import { explained, inStep, noAnswerAt, problemAt, statusText } from "../../../../src/methods/jwt/issuer-problem.ts";

const URL_ASKED = "https://login.example.com:8443/keys";

describe("a document of an issuer that can't be had", () => {
  it.each([
    ["lost", "it refuses the connection, or closes it without an answer"],
    ["timeout", "it does not answer in time"],
    ["unreadable", "its answer is too long or no text"],
    ["not_allowed", "its host may not be called from here"],
  ] as const)("because of %s: who configures it learns the address and the cause", async (why, cause) => {
    const asked: unknown[] = [];
    const opens = async (...place: unknown[]) => asked.push(place) > 0;
    expect(await explained(noAnswerAt(URL_ASKED, why), opens)).toBe(`${URL_ASKED}: ${cause}`);
    expect(asked).toEqual([]);
  });

  it("without a connection: a name that does not resolve is told from TLS that fails", async () => {
    const asked: unknown[] = [];
    const opens = (isOpen: boolean) => async (host: string, port: number) => {
      asked.push([host, port]);
      return isOpen;
    };
    const problem = inStep("error", noAnswerAt(URL_ASKED, "unreachable"));
    expect(await explained(problem, opens(true))).toBe(
      `error: ${URL_ASKED}: there is no connection: TLS fails, as when its certificate is not trusted here or for another name`,
    );
    expect(await explained(problem, opens(false))).toBe(
      `error: ${URL_ASKED}: there is no connection: its name does not resolve here, or its host is out of reach, or TLS fails with a host behind Cloudflare's network`,
    );
    expect(asked).toEqual([
      ["login.example.com", 8443],
      ["login.example.com", 8443],
    ]);
  });

  it("tells who logs in no address, and not whether a port is open", () => {
    for (const why of ["lost", "timeout", "unreachable"] as const) {
      expect(inStep("error", noAnswerAt(URL_ASKED, why)).text).toBe("error: it does not answer");
    }
    expect(problemAt(URL_ASKED, statusText(530), "it answered 530").text).toBe("it answered 530");
  });

  it("says what a status of Cloudflare's network means", () => {
    expect(statusText(404)).toBe("it answered 404");
    expect(statusText(530)).toContain("the name of the host does not resolve");
    expect(statusText(526)).toContain("the certificate of the host is not valid");
  });
});
