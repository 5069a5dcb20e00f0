import { SELF } from "cloudflare:test";
import { expect, it } from "vitest";

it("runs", async () => {
  const r = await SELF.fetch("http://x/y");
  expect(r.status).toBe(404);
  await r.text();
});
