import { SELF } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import aws from "../../../conformance/aws.json";
import cloud from "../../../conformance/cloud.json";
import { type Exchange, replay } from "../../../support/exchange.ts";
import { initialized } from "../../../support/service.ts";

const results = new Map<string, readonly string[]>();

beforeAll(async () => {
  const root = await initialized();
  const send = (path: string, init: RequestInit) => SELF.fetch(`http://grove.test/v1${path}`, init as never);
  for (const [type, recorded] of Object.entries({ aws, cloud })) {
    for (const { name, differences } of await replay(send, root, recorded as Exchange[])) {
      results.set(`${type}: ${name}`, differences);
    }
  }
});

for (const [type, recorded] of Object.entries({ aws, cloud })) {
  describe(`recorded exchanges of a mount of the type ${type}`, () => {
    for (const { name } of recorded) {
      it(name, () => expect(results.get(`${type}: ${name}`)).toEqual([]));
    }
  });
}
