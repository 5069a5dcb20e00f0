import { afterEach, expect, it, vi } from "vitest";
import { nodeName, startPresence } from "../../../../scripts/serve/cluster/presence.ts";

afterEach(() => void vi.useRealTimers());

it("a node reports itself at once and once a minute, until it says that it leaves", () => {
  vi.useFakeTimers();
  const asked: string[] = [];
  const presence = startPresence("[::1]:9000", async (path) => asked.push(path));
  vi.advanceTimersByTime(120_000);
  presence.leave();
  vi.advanceTimersByTime(120_000);
  const up = "/up?node=%5B%3A%3A1%5D%3A9000";
  expect(asked).toEqual([up, up, up, "/left?node=%5B%3A%3A1%5D%3A9000"]);
});

it("a node has the name of the address where the others reach it", () => {
  const listen = { host: "0.0.0.0", port: 9000 };
  expect(nodeName({ listen, advertise: { host: "::1", port: 9001 } })).toBe("[::1]:9001");
  expect(nodeName({ listen: { host: "10.0.0.1", port: 9000 }, advertise: undefined })).toBe("10.0.0.1:9000");
});
