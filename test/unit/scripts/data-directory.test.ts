import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { DataDirectory } from "../../../scripts/local/data-directory.ts";

let parent: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "grove-unit-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
});

function open(path: string): DataDirectory {
  const directory = DataDirectory.open(path);
  if (!directory.ok) throw new Error(directory.error);
  return directory.value;
}

describe("DataDirectory", () => {
  it("is made for this user only", async () => {
    open(join(parent, "a/b")).close();
    expect((await stat(join(parent, "a/b"))).mode & 0o777).toBe(0o700);
  });

  it("is not made below a directory that is missing, where that is asked", () => {
    const path = join(parent, "mistyped/data");
    const error = `${path} cannot be used for data: ${join(parent, "mistyped")} does not exist. Is --data mistyped? If not, mkdir -p ${join(parent, "mistyped")}`;
    expect(DataDirectory.open(path, "needed")).toEqual({ ok: false, error });
    const made = DataDirectory.open(join(parent, "data"), "needed");
    expect(made.ok).toBe(true);
    if (made.ok) made.value.close();
  });

  it("is no file", async () => {
    const file = join(parent, "file");
    await writeFile(file, "");
    const problem = (path: string) => ({ ok: false, error: `${path} cannot be used for data: it is not a directory` });
    for (const path of [file, join(file, "below")]) expect(DataDirectory.open(path)).toEqual(problem(path));
  });

  it("belongs to one at a time", () => {
    const first = open(join(parent, "data"));
    expect(DataDirectory.open(join(parent, "data"))).toMatchObject({
      ok: false,
      error: expect.stringContaining(`process ${process.pid}`),
    });
    first.close();
    open(join(parent, "data")).close();
  });

  it("makes a secret once and keeps it", async () => {
    const directory = open(join(parent, "data"));
    expect(directory.readOrMake("key", () => "one")).toBe("one");
    expect(directory.readOrMake("key", () => "two")).toBe("one");
    expect((await stat(directory.file("key"))).mode & 0o777).toBe(0o600);
    directory.remove(["key"]);
    expect(directory.readOrMake("key", () => "two")).toBe("two");
    directory.close();
  });

  it("does not leave a secret readable that was readable before", async () => {
    const directory = open(join(parent, "data"));
    await writeFile(directory.file("environment"), "old");
    await chmod(directory.file("environment"), 0o644);
    directory.write("environment", "new");
    expect((await stat(directory.file("environment"))).mode & 0o777).toBe(0o600);
    expect(await readFile(directory.file("environment"), "utf8")).toBe("new");
    directory.close();
  });

  it("says why it cannot be used", async () => {
    await writeFile(join(parent, "file"), "");
    expect(DataDirectory.open(join(parent, "file"))).toMatchObject({ ok: false });
    expect(DataDirectory.open(join(parent, "file/data"))).toMatchObject({
      ok: false,
      error: expect.stringContaining("not a directory"),
    });
  });
});
