import { expect, it } from "vitest";
import { Child, followErrors } from "../../../scripts/local/child.ts";

it("shows what workerd says to its last line, without stack traces", async () => {
  const words = [
    "workerd/io/io-context.c++:455: error: e = kj/async-io-unix.c++:1293: failed: DNS lookup failed.; params.host = sts.example",
    "stack: /grove/bin/workerd@553261e /grove/bin/workerd@5533110; sentryErrorContext = jsgInternalError",
    "stack: /grove/bin/workerd@0x554546b /grove/bin/workerd@0x58b5d11",
    "the last line",
  ];
  const script = "for (const line of process.argv.slice(1)) console.error(line); process.exitCode = 3;";
  const child = new Child({ command: process.execPath, args: ["-e", script, ...words], env: {}, output: "errors" });
  const shown: string[] = [];
  followErrors(child, (line) => void shown.push(line));
  expect(await child.ended).toBe("exit code 3");
  expect(shown).toEqual([words[0], words[2], words[3]]);
});
