import { expect, it } from "vitest";
import type { Migration } from "../../../src/storage/schema.ts";

/**
 * The SQL of every migration that a release has, as a hash. An installation of that release has run it: a change would be
 * there on new installations only. So a hash never changes; what is to be different is a new migration with a line here. Only
 * the line of a migration that no release has yet may be replaced.
 */
const RELEASED: Readonly<Record<string, string>> = {
  "ACCESSOR_SHARD_MIGRATIONS 1": "9bc53ec44e41b7451c1d53cac3ebd794",
  "CLOUD_ACCESS_LIST_MIGRATIONS 1": "622f2ccd2aad981e5c9b7e55bfaaa54b",
  "CLOUD_AUTH_MIGRATIONS 1": "37604140c6520e68e42d523907621394",
  "CUBBYHOLE_MIGRATIONS 1": "7d1a78cb24c1ef90c693bb8275f9ba48",
  "CUSTOM_ID_MIGRATIONS 1": "ab6fe5295212d6f32f64d2c65479a272",
  "ENTITY_SHARD_MIGRATIONS 1": "5605baf955c0c005f11b67eda106b691",
  "FREE_TREES_MIGRATIONS 1": "2f699520d70bc89286b0d75b60fb08ae",
  "IDENTITY_MIGRATIONS 1": "5d4d8d91c255f9eea055aafad7c5dd84",
  "ISSUER_MIGRATIONS 1": "a24443d7e84a60c8c47c8601bc0838aa",
  "JWT_AUTH_MIGRATIONS 1": "ff6d9a2bd299fbf415b424a3f1781bba",
  "LEASE_MIGRATIONS 1": "9fc6dc8a277fdbf1b45787bdb55118b4",
  "LEASE_WALK_MIGRATIONS 1": "442d66cd8ee0c4a8d87977e8feb7fe0f",
  "LISTING_MARK_MIGRATIONS 1": "de3ee6c7ac4690428be439536129f7f5",
  "ORGANIZATION_DIRECTORY_MIGRATIONS 1": "a5c7d3f483b2b8490809819086580313",
  "ORGANIZATION_MIGRATIONS 1": "89082ffe26b0f009923d007f606aeace",
  "ROW_FLOOR_MIGRATIONS 1": "22c5b6b59ea94f464f84add707777480",
  "SHARD_CHECK_MIGRATIONS 1": "c8873628ed283d0dbd287e8e7e3bb7da",
  "SHARD_TIDY_MIGRATIONS 1": "46be3430067f9cd8cb14c9008b37d1c0",
  "SYSTEM_MIGRATIONS 1": "75793f525242907f4b4398e3cb9b8639",
  "SYSTEM_MIGRATIONS 2": "87a3e47c993fda52e1fe2887d5d244e6",
  "SYSTEM_MIGRATIONS 3": "43d79fe2fe255fdb2163d782c072b80e",
  "SYSTEM_MIGRATIONS 4": "098c36ad759f57deaec91d7cf4eed300",
  "SYSTEM_MIGRATIONS 5": "12bd5516ace249cfd5e8ea8a2f6984ed",
  "SYSTEM_MIGRATIONS 6": "3cb27e4182d63847aa166e66b227d3e7",
  "SYSTEM_MIGRATIONS 7": "bedf1e317c42b3041acd76ac4033bb6c",
  "SYSTEM_MIGRATIONS 8": "6f00ac1a0dfeae9c8d74408082f922cc",
  "SYSTEM_MIGRATIONS 9": "7b84ae1848845cf16a8557f1d0cd0dab",
  "TEAM_MIGRATIONS 1": "246927487000e9bbb5b6f14f6d44ec2d",
  "TIDY_MIGRATIONS 1": "9e26a821a566fff1aa612d84aa1586e5",
  "TOKEN_INDEX_MIGRATIONS 1": "ad47c8ce50139a25bac6a54943216aca",
  "TOKEN_MIGRATIONS 1": "f4cad816afcea2ba9e25884b50591fc8",
  "TOKEN_REVOCATION_MIGRATIONS 1": "d43f1bb591e7f64a3a8f5d975117f1f0",
  "TOKEN_ROLE_MIGRATIONS 1": "1def83a53622583060f88d0b382cfeba",
};

const modules = import.meta.glob("../../../src/**/*.ts", { eager: true });

function migrations(): [name: string, migration: Migration][] {
  return Object.values(modules)
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("_MIGRATIONS"))
    .flatMap(([name, list]) => (list as readonly Migration[]).map((one): [string, Migration] => [name, one]));
}

async function hashOf({ sql }: Migration): Promise<string> {
  const text = new TextEncoder().encode(sql.replace(/\s+/g, " ").trim());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return Array.from(hash.slice(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

it("the SQL of a migration that was released never changes", async () => {
  const now: Record<string, string> = {};
  for (const [name, migration] of migrations()) now[`${name} ${migration.version}`] = await hashOf(migration);
  expect(now).toEqual(RELEASED);
});
