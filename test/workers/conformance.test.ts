import { SELF } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import recorded from "../conformance/token.json";
import { type Exchange, replay } from "../support/exchange.ts";
import { initialized } from "../support/service.ts";

describe("recorded exchanges of the token method", () => {
  const results = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const root = await initialized();
    const send = (path: string, init: RequestInit) => SELF.fetch(`http://grove.test/v1${path}`, init as never);
    for (const { name, differences } of await replay(send, root, recorded as Exchange[])) {
      results.set(name, differences);
    }
  });

  for (const { name } of recorded) {
    it(name, () => expect(results.get(name)).toEqual([]));
  }
});
