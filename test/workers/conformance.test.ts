import { SELF } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import aws from "../conformance/aws.json";
import cloud from "../conformance/cloud.json";
import token from "../conformance/token.json";
import { type Exchange, replay } from "../support/exchange.ts";
import { initialized } from "../support/service.ts";

const RECORDED = {
  "of the token method": token,
  "of a mount of the type aws": aws,
  "of a mount of the type cloud": cloud,
};

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe.each(Object.entries(RECORDED))("recorded exchanges %s", (_, recorded) => {
  const results = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const send = (path: string, init: RequestInit) => SELF.fetch(`http://grove.test/v1${path}`, init as never);
    for (const { name, differences } of await replay(send, root, recorded as Exchange[])) {
      results.set(name, differences);
    }
  });

  for (const { name } of recorded) {
    it(name, () => expect(results.get(name)).toEqual([]));
  }
});
