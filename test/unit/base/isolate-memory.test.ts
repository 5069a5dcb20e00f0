import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/*
 * What an isolate keeps in memory for longer than a request is bounded by constants. This adds them up, with what one unit of each
 * takes at most, about: an isolate of the vendor has 128 MB, and dies with all requests in it when it needs more.
 */

const PLATFORM_BYTES = 128e6;
/** For the code with what it builds at its start. No installation has everything else at its maximum at once, so there is room for requests. */
const RESERVED_BYTES = 12e6;
/** Objects of one class that can share an isolate have a share of it. */
const OBJECT_BYTES = 4e6;

/** A cache keeps up to two generations. */
const GENERATIONS = 2;
/** Bytes that a character of JSON takes where it is kept as an object. */
const JSON_BYTES = 2;

/** Where a cache is: one in an isolate, in each object of a class, or only where one process of the operator's serves everything. */
type Place = "isolate" | "object" | "own process" | "within another";

/** By module, in the order of the source: where, and the bytes that a unit of the maximum takes. */
const CACHES: Readonly<Record<string, readonly (readonly [Place, number])[]>> = {
  // Their maxima are those of whatever uses them.
  "base/generational-cache.ts": [["within another", 0]],
  "base/copies.ts": [
    ["within another", 0],
    // In each of ten.
    ["isolate", 10 * 300],
  ],
  "methods/config-copies.ts": [
    // In each of four: of the AWS method three, of AppRole one.
    ["isolate", 4 * JSON_BYTES],
    // In each of two methods.
    ["isolate", 2 * 300],
  ],
  "quota/client-windows.ts": [["within another", 0]],
  // The maximum is that of both generations.
  "app/rate-limit.ts": [["isolate", 75]],
  "audit/mention-keys.ts": [["isolate", 250]],
  "auth/read-token.ts": [
    ["isolate", 5],
    ["isolate", 800],
  ],
  "auth/refused-logins.ts": [["isolate", 1000]],
  "crypto/key-ring.ts": [["isolate", 500]],
  "identity/entity-for-login.ts": [["isolate", 1000]],
  "identity/entity-copies.ts": [
    ["isolate", JSON_BYTES],
    ["isolate", 1e6],
  ],
  "issuer/key-pair.ts": [["isolate", 3000]],
  "issuer/published-keys.ts": [["isolate", 200_000]],
  "methods/aws/clients/account-credentials.ts": [
    ["isolate", 3000],
    ["isolate", 200],
  ],
  "methods/aws/clients/batched-lookups.ts": [["object", 1000]],
  "methods/aws/documents/certificate.ts": [["isolate", JSON_BYTES]],
  "methods/aws/documents/identity-document.ts": [["isolate", JSON_BYTES]],
  "methods/aws/login/principal-bounds.ts": [["isolate", 500]],
  "methods/aws/login/iam.ts": [["isolate", 190]],
  "methods/jwt/key-set-cache.ts": [["isolate", JSON_BYTES]],
  "methods/jwt/oidc/provider-discovery.ts": [["isolate", JSON_BYTES]],
  "methods/pem-keys.ts": [["isolate", JSON_BYTES]],
  "storage/row-seals.ts": [
    ["object", JSON_BYTES],
    ["within another", 0],
  ],
  "system/installation.ts": [
    ["isolate", 3],
    ["isolate", 15],
    // What an isolate copies as a whole is below.
    ["within another", 0],
  ],
  "system/policies.ts": [["isolate", 100]],
  "team/stubs.ts": [["isolate", 150]],
  "team/organization-sync.ts": [["object", 300]],
  "token/roles/token-roles.ts": [["isolate", JSON_BYTES]],
  "tree/known-tokens.ts": [
    ["own process", JSON_BYTES],
    ["own process", 200],
  ],
  "tree/liveness.ts": [
    ["object", 60],
    ["within another", 0],
  ],
  "tree/token-rows.ts": [["object", JSON_BYTES]],
  "tree/updates/tree-updates.ts": [
    ["object", 60],
    ["object", 60],
  ],
};

/** What an isolate copies or collects as a whole, with its maximum. */
const COPIES: readonly (readonly [module: string, constant: string, bytes: number])[] = [
  ["system/policies.ts", "MAX_RULES_LENGTH", 2],
  ["system/watermarks.ts", "MAX_WATERMARKS", 400],
  ["system/mount.ts", "MAX_MOUNTS", 6000],
  ["system/custom-id-list.ts", "MAX_LISTED_IDS", 4],
  ["audit/writer/backlog.ts", "MAX_WAITING_BYTES", 1],
  ["audit/writer/use-counts.ts", "MAX_COUNTERS", 400],
  // Networks and tokens: those of an hour, and of hours that are over.
  ["audit/writer/refusal-bound.ts", "MAX_SOURCES", 4 * 100],
];

const SOURCES = join(import.meta.dirname, "../../../src");
const NEW_CACHE = /new (?:GenerationalCache|ExpiringCache|Copies|ClientWindows)(?:<.*?>)?\(\s*([^,)]+)/g;

const modules = new Map(
  readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [name, readFileSync(join(SOURCES, name), "utf8")]),
);

/** What a constant is declared as, in its module or in the one that exports it. */
function constant(name: string, module: string): number {
  const declared = new RegExp(`\\bconst ${name} = ([^;]+);`);
  const own = declared.exec(modules.get(module) ?? "")?.[1];
  const other = [...modules.values()].map((source) => new RegExp(`export ${declared.source}`).exec(source)?.[1]);
  return numberOf(own ?? other.find((text) => text !== undefined) ?? "", module);
}

/** A product of numbers, powers and constants. */
function numberOf(text: string, module: string): number {
  if (text === "") throw new Error(`${module} has no such constant`);
  const power = /^(\d+) \*\* (\d+)$/.exec(text.trim());
  if (power) return Number(power[1]) ** Number(power[2]);
  return text
    .split(" * ")
    .map((factor) => (/^[\d_]+$/.test(factor) ? Number(factor.replaceAll("_", "")) : constant(factor, module)))
    .reduce((product, factor) => product * factor);
}

interface Cache {
  readonly name: string;
  readonly place: Place;
  readonly bytes: number;
}

function cachesOf(module: string, source: string): Cache[] {
  const sizes = [...source.matchAll(NEW_CACHE)].map(([, size = ""]) => size);
  return sizes.map((size, at) => {
    const [place, bytes] = CACHES[module]?.[at] ?? [];
    if (place === undefined || bytes === undefined) throw new Error(`${module} has a cache that is not in the table`);
    const name = `${module} ${size}`;
    return { name, place, bytes: bytes === 0 ? 0 : GENERATIONS * numberOf(unitsOf(size), module) * bytes };
  });
}

/** The maximum of a cache that is given it by its constructor's default, or by a rule. */
function unitsOf(size: string): string {
  if (size === "remembered") return "REMEMBERED_CONNECTIONS";
  return size.startsWith("Math.min(maxSize") ? "MAX_PENDING" : size;
}

describe("the memory of an isolate", () => {
  const caches = [...modules].flatMap(([module, source]) => cachesOf(module, source));
  const bytesAt = (place: Place) =>
    caches.filter((cache) => cache.place === place).reduce((sum, { bytes }) => sum + bytes, 0);

  it("has room for everything that is kept, at its maximum at once", () => {
    const copies = COPIES.map(([module, name, bytes]) => constant(name, module) * bytes);
    const kept = [bytesAt("isolate"), ...copies].reduce((sum, bytes) => sum + bytes);
    expect(kept).toBeLessThan(PLATFORM_BYTES - RESERVED_BYTES);
    expect(kept).toBeGreaterThan(PLATFORM_BYTES / 4);
  });

  it("has room for the caches of many objects", () => {
    expect(bytesAt("object")).toBeLessThan(OBJECT_BYTES);
  });

  it("is bounded cache by cache: each is in the table, as often as it is made", () => {
    const made = Object.groupBy(caches, ({ name }) => name.split(" ")[0] ?? "");
    const counts = Object.entries(made).map(([module, of]) => [module, of?.length ?? 0]);
    expect(Object.fromEntries(counts)).toEqual(
      Object.fromEntries(Object.entries(CACHES).map(([module, of]) => [module, of.length])),
    );
  });
});
