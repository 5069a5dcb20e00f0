import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { archiveInBucket, archiveInFiles, startArchive } from "../../../scripts/serve/audit-archive.ts";
import { startBucket } from "./cluster/support.ts";

const PAGE = "1f6a3ab4-8f8f-4bb5-a7c4-2f1f2f4d9f10/audit/3-1/000000000001.jsonl";
const HEADS = "1f6a3ab4-8f8f-4bb5-a7c4-2f1f2f4d9f10/audit/heads/2026-11-29T10:00:00Z.jws";
const STORED = "test/one/grove/archive/";

async function start() {
  const { emulator, bucket } = await startBucket();
  const stored = () => new Map([...emulator.objects].map(([key, { content }]) => [key, content.toString("utf8")]));
  return { emulator, stored, ...(await startService(archiveInBucket(bucket))) };
}

async function startService(archiveIn: Parameters<typeof startArchive>[1]) {
  const socket = join(tmpdir(), `grove-archive-${randomBytes(6).toString("hex")}.sock`);
  const archive = await startArchive(socket, archiveIn);
  if (!archive.ok) throw new Error(archive.error);
  onTestFinished(() => archive.value.stop());
  const put = (path: string, text: string, method = "PUT") =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const sent = request({ socketPath: socket, method, path }, async (response) => {
        let body = "";
        for await (const piece of response.setEncoding("utf8")) body += piece;
        resolve({ status: response.statusCode ?? 0, body });
      });
      sent.on("error", reject).end(text);
    });
  return { socket, put };
}

describe("the archive of a cluster", () => {
  it("has pages and signed heads in the bucket, in a directory of its own", async () => {
    const { put, stored } = await start();
    expect(await put(`/${PAGE}`, "a line\n")).toEqual({ status: 204, body: "" });
    expect(await put(`/${encodeURI(HEADS)}`, "a.b.c")).toEqual({ status: 204, body: "" });
    expect([...stored()]).toEqual([
      [STORED + PAGE, "a line\n"],
      [STORED + HEADS, "a.b.c"],
    ]);
  });

  it("takes a page again: after a crash it is written a second time", async () => {
    const { put, stored } = await start();
    for (const text of ["a line\n", "a line\nanother\n"]) expect((await put(`/${PAGE}`, text)).status).toBe(204);
    expect(stored().get(STORED + PAGE)).toBe("a line\nanother\n");
  });

  it("writes nothing else, and reads and deletes nothing", async () => {
    const { put, stored } = await start();
    const [id = ""] = PAGE.split("/");
    for (const path of [
      "/installation",
      `/${id}/audit/3-1/../../../installation`,
      `/${id}/audit/%2e%2e/x`,
      `/${id}/audit/3-1/..`,
      `/${id}/audit/3-1/%2e%2e`,
      `/${id}/audit/3-1/.`,
      `/${id}/other/3-1/1.jsonl`,
      `/${PAGE}/x`,
      `/${PAGE}?x=1`,
      `/${id}/audit/..%2f..%2fworkerd/x`,
      "/%",
    ]) {
      expect((await put(path, "x")).status, path).toBe(502);
    }
    for (const method of ["GET", "DELETE", "POST"]) expect((await put(`/${PAGE}`, "", method)).status).toBe(502);
    expect(stored().size).toBe(0);
  });

  it("says why the bucket did not take a page", async () => {
    const { emulator, put } = await start();
    emulator.fault = () => ({ status: 403 });
    expect(await put(`/${PAGE}`, "x")).toEqual({ status: 502, body: "the bucket answered 403 (SlowDown)" });
  });

  it("does not start where its socket can't be", async () => {
    const { socket } = await start();
    expect(await startArchive(join(socket, "below"), archiveInFiles("x"))).toMatchObject({
      ok: false,
      error: expect.stringContaining("the socket of the archive can't be used"),
    });
  });
});

describe("the archive of a server that is one process", () => {
  it("has pages and signed heads in files, for their owner alone, each whole", async () => {
    const directory = join(mkdtempSync(join(tmpdir(), "grove-archive-")), "new");
    onTestFinished(() => rmSync(dirname(directory), { recursive: true }));
    const { put } = await startService(archiveInFiles(directory));
    for (const text of ["a line\n", "a line\nänother\n"]) expect((await put(`/${PAGE}`, text)).status).toBe(204);
    expect((await put(`/${encodeURI(HEADS)}`, "a.b.c")).status).toBe(204);
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name));
    expect(new Map(paths.map((path) => [path, readFileSync(path, "utf8")]))).toEqual(
      new Map([
        [join(directory, PAGE), "a line\nänother\n"],
        [join(directory, HEADS), "a.b.c"],
      ]),
    );
    expect(paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  it("leaves no unfinished file where heads are read, also when a write fails before its end", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-archive-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    // No file can take the place of a directory.
    mkdirSync(join(directory, HEADS), { recursive: true });
    const { put } = await startService(archiveInFiles(directory));
    expect((await put(`/${encodeURI(HEADS)}`, "a.b.c")).status).toBe(502);
    expect(readdirSync(dirname(join(directory, HEADS)))).toEqual([basename(HEADS)]);
  });

  it("says why the disk did not take a page", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-archive-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, "file"), "");
    const { put } = await startService(archiveInFiles(join(directory, "file")));
    expect(await put(`/${PAGE}`, "x")).toEqual({ status: 502, body: expect.stringMatching(/ENOTDIR|EEXIST/) });
  });
});
