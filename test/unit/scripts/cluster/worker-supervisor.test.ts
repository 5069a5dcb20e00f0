import { describe, expect, it, vi } from "vitest";
import { Child } from "../../../../scripts/local/child.ts";
import { LastError } from "../../../../scripts/serve/cluster/node.ts";
import { pauseAfter, WorkerSupervisor } from "../../../../scripts/serve/cluster/worker-supervisor.ts";

/** A worker whose children are shell scripts, the last one for every further start. */
function keep(scripts: readonly string[], pause: (ms: number) => Promise<void> = async () => {}) {
  const lines: string[] = [];
  const starts = { count: 0 };
  const worker = new WorkerSupervisor({
    start() {
      const script = scripts[Math.min(starts.count++, scripts.length - 1)] ?? "";
      return new Child({ command: "/bin/sh", args: ["-c", script], env: process.env, output: "errors" });
    },
    // One that sleeps answers; one that ends does not.
    answers: async (ended) => {
      if (scripts[Math.min(starts.count, scripts.length) - 1]?.startsWith("exec sleep")) return true;
      await ended;
      return false;
    },
    lastError: () => "the lease lapsed",
    pause,
    say: (line) => void lines.push(line),
  });
  const changes: (string | undefined)[] = [];
  worker.follow((problem) => void changes.push(problem));
  return { worker, lines, starts, changes, up: worker.up };
}

describe("the workerd of a node", () => {
  it("is restarted when it ends, logs why, and serves nothing until it runs again", async () => {
    const { worker, lines, starts, changes, up } = keep(["exit 1", "exit 3", "exec sleep 1000"]);
    expect(worker.isUp).toBe(false);
    await up;
    expect(worker.isUp).toBe(true);
    expect(starts.count).toBe(3);
    expect(lines[0]).toBe(
      "workerd ended (exit code 1: the lease lapsed); this node serves nothing; workerd is started again in 0.5 s",
    );
    expect(lines[1]).toContain("exit code 3");
    expect(lines[1]).toContain("in 1 s");
    expect(changes.slice(0, -1).every((problem) => problem !== undefined)).toBe(true);
    await worker.stop();
    expect(starts.count).toBe(3);
  });

  it("is started again when it has to forget what it knows", async () => {
    const { worker, starts, up } = keep(["exec sleep 1000"]);
    await up;
    worker.restart();
    await expect.poll(() => starts.count).toBe(2);
    await expect.poll(() => worker.isUp).toBe(true);
    await worker.stop();
  });

  it("is not started again after a hand-over", async () => {
    const { worker, starts, lines, up } = keep(["exec sleep 1000"]);
    await up;
    worker.handOver();
    expect(worker.isUp).toBe(false);
    await worker.stop();
    expect(await worker.ended).toBe("SIGTERM");
    expect([starts.count, lines]).toEqual([1, []]);
  });

  it("stops during the pause before a start", async () => {
    const paused = Promise.withResolvers<void>();
    const { worker, starts } = keep(["exit 1"], () => {
      paused.resolve();
      return new Promise(() => {});
    });
    await paused.promise;
    await worker.stop();
    expect(starts.count).toBe(1);
  });

  it("counts failures anew after it ran for long", async () => {
    let starts = { count: 0 };
    // The third one runs for a minute and a second.
    vi.spyOn(performance, "now").mockImplementation(() => (starts.count < 3 ? 0 : 61_000));
    const pauses: number[] = [];
    const enough = Promise.withResolvers<void>();
    const kept = keep(["exit 1"], async (ms) => {
      if (pauses.push(ms) < 4) return;
      enough.resolve();
      await new Promise(() => {});
    });
    starts = kept.starts;
    await enough.promise;
    await kept.worker.stop();
    expect(pauses).toEqual([500, 1000, 500, 1000]);
  });

  it("pauses longer and longer between starts, and never gives up", () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 100].map(pauseAfter)).toEqual([
      500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000,
    ]);
  });
});

describe("the last error of workerd", () => {
  it("is the last line that explains its end, once and bounded", () => {
    const last = new LastError();
    last.note("run.rs: error: leaving the cluster: the lease lapsed");
    last.note("something else");
    expect(last.take()).toBe("run.rs: error: leaving the cluster: the lease lapsed");
    expect(last.take()).toBe("");
    last.note(`error: ${"x".repeat(1000)}`);
    expect(last.take()).toHaveLength(300);
  });
});
