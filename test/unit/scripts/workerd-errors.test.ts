import { expect, it } from "vitest";
import { Child, followErrors } from "../../../scripts/local/child.ts";

it("shows what workerd says to its last line, without stack traces and calls of the Worker that got no connection", async () => {
  const words = [
    "workerd/io/io-context.c++:455: error: e = kj/async-io-unix.c++:1293: failed: DNS lookup failed.; params.host = sts.example",
    "stack: /grove/bin/workerd@553261e /grove/bin/workerd@5533110; sentryErrorContext = jsgInternalError",
    "stack: /grove/bin/workerd@0x554546b /grove/bin/workerd@0x58b5d11",
    "workerd/jsg/util.c++:320: error: e = rust/worker/ffi.rs:104: failed: failed to lookup address information: Name or service not known",
    "workerd/api/sockets.c++:1422: error: Socket proxy disconnected abruptly; e = kj/async-io-unix.c++:186: failed: connect(): Connection refused",
    "workerd/jsg/util.c++:320: error: e = workerd/jsg/modules.c++:104: failed: a module is missing",
    "the last line",
  ];
  const script = "for (const line of process.argv.slice(1)) console.error(line); process.exitCode = 3;";
  const child = new Child({ command: process.execPath, args: ["-e", script, ...words], env: {}, output: "errors" });
  const shown: string[] = [];
  followErrors(child, (line) => void shown.push(line));
  expect(await child.ended).toBe("exit code 3");
  expect(shown).toEqual([words[0], words[2], words[5], words[6]]);
});
