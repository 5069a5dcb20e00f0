import { expect, it } from "vitest";
import { Child, followErrors } from "../../../scripts/local/child.ts";

it("shows what workerd says to its last line, without stack traces, calls of the Worker that got no connection and alarms that were moved", async () => {
  const words = [
    "workerd/io/io-context.c++:455: error: e = kj/async-io-unix.c++:1293: failed: DNS lookup failed.; params.host = sts.example",
    "stack: /grove/bin/workerd@553261e /grove/bin/workerd@5533110; sentryErrorContext = jsgInternalError",
    "stack: /grove/bin/workerd@0x554546b /grove/bin/workerd@0x58b5d11",
    "workerd/jsg/util.c++:320: error: e = rust/worker/ffi.rs:104: failed: failed to lookup address information: Name or service not known",
    "workerd/api/sockets.c++:1422: error: Socket proxy disconnected abruptly; e = kj/async-io-unix.c++:186: failed: connect(): Connection refused",
    "workerd/jsg/util.c++:320: error: e = workerd/jsg/modules.c++:104: failed: a module is missing",
    "workerd/io/actor-sqlite.c++:1054: warning: NOSENTRY SQLite alarm handler canceled with requestScheduledAlarm.; scheduledTime = 1796004857s; actorId = 0cb5",
    "workerd/io/actor-sqlite.c++:1040: warning: NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch; actorId = 0cb5",
    "workerd/io/actor-sqlite.c++:990: error: NOSENTRY SQLite reschedule later alarm failed; e = kj/exception",
    "workerd/io/worker-entrypoint.c++:9: error: NOSENTRY Alarm exceeded its allowed execution time; actorId = 0cb5",
    "the last line",
  ];
  const script = "for (const line of process.argv.slice(1)) console.error(line); process.exitCode = 3;";
  const child = new Child({ command: process.execPath, args: ["-e", script, ...words], env: {}, output: "errors" });
  const shown: string[] = [];
  followErrors(child, (line) => void shown.push(line));
  expect(await child.ended).toBe("exit code 3");
  expect(shown).toEqual([words[0], words[2], words[5], words[8], words[9], words[10]]);
});
