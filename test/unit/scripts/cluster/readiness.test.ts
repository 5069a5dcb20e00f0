import { createServer } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { listenAt } from "../../../../gateway/server.ts";
import { askWorkerd, Readiness } from "../../../../scripts/serve/cluster/readiness.ts";

describe("the readiness of a node", () => {
  it("is that of workerd while the node is up", async () => {
    for (const answer of [true, false]) {
      expect(
        await new Readiness(
          () => true,
          async () => answer,
        ).read(),
      ).toBe(answer);
    }
  });

  it("is false without a question while workerd does not serve or the node stops", async () => {
    let asked = 0;
    const readiness = new Readiness(
      () => false,
      async () => ++asked > 0,
    );
    expect([await readiness.read(), asked]).toEqual([false, 0]);
  });

  it("is false when the node stops while workerd is asked", async () => {
    let isUp = true;
    const readiness = new Readiness(
      () => isUp,
      async () => {
        isUp = false;
        return true;
      },
    );
    expect(await readiness.read()).toBe(false);
  });

  it("is asked of workerd once for many balancers at a time", async () => {
    let asked = 0;
    const readiness = new Readiness(
      () => true,
      async () => ++asked > 0,
    );
    await Promise.all(Array.from({ length: 100 }, () => readiness.read()));
    expect(asked).toBe(1);
  });

  it.each([
    [200, true],
    [503, false],
  ])("is read from /ready of the cluster port: %i", async (status, isReady) => {
    const server = createServer((request, response) =>
      response.writeHead(request.url === "/ready" ? status : 404).end("{}"),
    );
    const bound = await listenAt(server, { host: "127.0.0.1", port: 0 });
    onTestFinished(() => void server.close());
    expect(await askWorkerd({ host: "127.0.0.1", port: bound.ok ? bound.value : 0 })).toBe(isReady);
  });

  it("is false when nothing listens there", async () => {
    expect(await askWorkerd({ host: "127.0.0.1", port: 1 })).toBe(false);
  });
});
