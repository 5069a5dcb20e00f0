import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { KINDS } from "../../../src/app/registry.ts";

/** Classes that no backup holds, and why. */
const NOT_SAVED: Readonly<Record<string, string>> = {
  AccessorShard: "its lists are made anew from the trees",
  ShardTidy: "the progress of a check that begins again",
  Tidy: "the progress of a run that begins again",
  LeaseWalk: "the progress of a revocation that can be sent again",
  BackupRuns: "the progress of backups",
  CloudLookups: "it stores nothing",
  AuditShard: "its archive is its backup",
  AuditDirectory: "it describes the objects that are there",
};

it("a class of objects is in backups, or has a reason not to be", () => {
  const { durable_objects } = parse(readFileSync("wrangler.toml", "utf8"));
  const classes = [...JSON.stringify(durable_objects).matchAll(/"class_name":"(\w+)"/g)].map(([, name = ""]) => name);
  expect([...classes].sort()).toEqual(["TokenTree", ...KINDS.objects.keys(), ...Object.keys(NOT_SAVED)].sort());
});
