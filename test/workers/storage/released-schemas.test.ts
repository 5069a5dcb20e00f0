import { expect, it } from "vitest";
import type { Migration } from "../../../src/storage/schema.ts";

/**
 * The SQL of every migration that a release has, as a hash. An installation of that release has run it: a change would be
 * there on new installations only. So a hash never changes; what is to be different is a new migration with a line here. Only
 * the line of a migration that no release has yet may be replaced.
 */
const RELEASED: Readonly<Record<string, string>> = {
  "ACCESSOR_SHARD_MIGRATIONS 1": "c51187dbf01d95e138576a6119b67ba6",
  "ACCESSOR_SHARD_MIGRATIONS 2": "7946c9eaf59dc330da2dab0ce1e9f693",
  "ACCESSOR_SHARD_MIGRATIONS 3": "0f23ef54e48d855b063279be1db9ef5f",
  "ACCESSOR_SHARD_MIGRATIONS 4": "b269d0e21e02fd6aa83aa757290e5e72",
  "CLOUD_ACCESS_LIST_MIGRATIONS 1": "658554e886909d0044686db298c05e96",
  "CLOUD_AUTH_MIGRATIONS 1": "4cc1ac669a3f26ff3331b7b9d0c340e9",
  "CLOUD_AUTH_MIGRATIONS 2": "113bf2e62a8a13db0a677cdd0797b9f0",
  "CLOUD_AUTH_MIGRATIONS 3": "9abc9394b32cc5ebc64dfa9b65c1455a",
  "CUBBYHOLE_MIGRATIONS 1": "7d1a78cb24c1ef90c693bb8275f9ba48",
  "CUSTOM_ID_MIGRATIONS 1": "ab6fe5295212d6f32f64d2c65479a272",
  "CUSTOM_ID_MIGRATIONS 2": "b1e73565d202ec59bf1d7efbc508205f",
  "ENTITY_SHARD_MIGRATIONS 1": "578c9c9b2969e2ba640c3d343dc6780d",
  "ENTITY_SHARD_MIGRATIONS 2": "6763cf1544ca462680c3fbd4de3ecd9a",
  "FREE_TREES_MIGRATIONS 1": "2f699520d70bc89286b0d75b60fb08ae",
  "IDENTITY_MIGRATIONS 1": "d457eecb5d274a05ace91df4c0cd867a",
  "IDENTITY_MIGRATIONS 2": "69d247c0246d4c230c2ec31a771eb4cb",
  "IDENTITY_MIGRATIONS 3": "1d88d403be49d27a64e7fe683cc53ff9",
  "IDENTITY_MIGRATIONS 4": "2609312bf178d81581151662fa03f8be",
  "IDENTITY_MIGRATIONS 5": "42fec440de9e6947929f36d22b5e0ef6",
  "ISSUER_MIGRATIONS 1": "3410583bc43c0a961d36886d1eb18c8f",
  "ISSUER_MIGRATIONS 2": "1634a486e36f3dcde59fe258e630b4c6",
  "JWT_AUTH_MIGRATIONS 1": "8effe97157b7c1db7ccebb14c89baf53",
  "JWT_AUTH_MIGRATIONS 2": "442e7177e842b029186255fae20465a4",
  "LEASE_MIGRATIONS 1": "9fc6dc8a277fdbf1b45787bdb55118b4",
  "LEASE_WALK_MIGRATIONS 1": "bfebb37a981b914c4540f5b87daf505c",
  "LEASE_WALK_MIGRATIONS 2": "bd16d08f51ceb52fa8d83b81c6acc791",
  "LEASE_WALK_MIGRATIONS 3": "6e9f2e19d32ecfe65d5c9526d6ff8e03",
  "LISTING_MARK_MIGRATIONS 1": "de3ee6c7ac4690428be439536129f7f5",
  "ORGANIZATION_DIRECTORY_MIGRATIONS 1": "a5c7d3f483b2b8490809819086580313",
  "ORGANIZATION_MIGRATIONS 1": "64554183343283c0049b0eed556dbe00",
  "ORGANIZATION_MIGRATIONS 2": "18927b4d0f6aa21617482f1b8080792f",
  "ORGANIZATION_MIGRATIONS 3": "eb96d15bcdbfeca05d60266474c1c26a",
  "ORGANIZATION_MIGRATIONS 4": "1c26a2a7476805265b2726ff3c239325",
  "ROW_FLOOR_MIGRATIONS 1": "22c5b6b59ea94f464f84add707777480",
  "SHARD_CHECK_MIGRATIONS 1": "c8873628ed283d0dbd287e8e7e3bb7da",
  "SHARD_TIDY_MIGRATIONS 1": "46be3430067f9cd8cb14c9008b37d1c0",
  "SYSTEM_MIGRATIONS 1": "75793f525242907f4b4398e3cb9b8639",
  "SYSTEM_MIGRATIONS 10": "7e19b1c21886bd28fc2305c34b56f0ad",
  "SYSTEM_MIGRATIONS 2": "f3b59f639ca84d06480751954961f66f",
  "SYSTEM_MIGRATIONS 3": "43d79fe2fe255fdb2163d782c072b80e",
  "SYSTEM_MIGRATIONS 4": "62abf9c2d9e851603e92f4c4dd278dbc",
  "SYSTEM_MIGRATIONS 5": "12bd5516ace249cfd5e8ea8a2f6984ed",
  "SYSTEM_MIGRATIONS 6": "4aaffe8f62e4a7c1b831c9eb726009a9",
  "SYSTEM_MIGRATIONS 7": "bedf1e317c42b3041acd76ac4033bb6c",
  "SYSTEM_MIGRATIONS 8": "6f00ac1a0dfeae9c8d74408082f922cc",
  "SYSTEM_MIGRATIONS 9": "7b84ae1848845cf16a8557f1d0cd0dab",
  "TEAM_MIGRATIONS 1": "2481841f65bac923df66b672f8e209d0",
  "TEAM_MIGRATIONS 2": "252a36f2cb677cb0d47d027e2278ce2d",
  "TEAM_MIGRATIONS 3": "fce89c9b733bf49b193bbc2d0cfb051c",
  "TEAM_MIGRATIONS 4": "a605d4582bdea3c523460a74bb085166",
  "TEAM_MIGRATIONS 5": "dfa6ec869b62bea486965b9690d23801",
  "TIDY_MIGRATIONS 1": "31419b6f762ad782fea525b1c3a65a72",
  "TIDY_MIGRATIONS 2": "81424a309c1b584be559f61607d2d50f",
  "TOKEN_INDEX_MIGRATIONS 1": "ad47c8ce50139a25bac6a54943216aca",
  "TOKEN_MIGRATIONS 1": "f4cad816afcea2ba9e25884b50591fc8",
  "TOKEN_REVOCATION_MIGRATIONS 1": "d59a0028b4befc8cb2840319641dc66e",
  "TOKEN_ROLE_MIGRATIONS 1": "10776adecf013424a8459e14972fc510",
  "TOKEN_ROLE_MIGRATIONS 2": "7ccbaa3e85d53591bb1293052ba05eb7",
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
