/**
 * Verifies an archive of the audit store offline: node verify-audit-archive.js DIR [JWKS]. DIR is what `grove audit archive`
 * wrote: SHARD-NUMBER.jsonl with the lines of an object, heads.jsonl with signed heads. JWKS (jwks.json of DIR unless given)
 * has the public keys of the issuer: give a copy that you trust, since who writes the archive could write that file too.
 * Each head says which digest the chain of an object has after a record. Exit code 1: something is wrong.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [directory, keyFile = join(directory ?? "", "jwks.json")] = process.argv.slice(2);
if (directory === undefined) {
  console.error("usage: node verify-audit-archive.js DIR [JWKS]");
  process.exit(2);
}

const HASHES = { RS256: "sha256", RS384: "sha384", RS512: "sha512", ES256: "sha256", ES384: "sha384", ES512: "sha512" };
const TYPE = "grove-audit-head";
let problems = 0;

function fail(message) {
  problems++;
  console.log(message);
}

const linesOf = (file) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []);
const jsonOf = (part) => JSON.parse(Buffer.from(part, "base64url").toString());

/** The payload of a JWS; null when no known key has signed it. */
function readSigned(jws, keys) {
  const [header, payload, signature] = jws.split(".");
  const { alg, kid, typ } = jsonOf(header);
  const jwk = keys.find((key) => key.kid === kid && key.alg === alg);
  if (!jwk || typ !== TYPE || (alg !== "EdDSA" && !HASHES[alg])) return null;
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
  const isGood = verify(
    HASHES[alg] ?? null,
    Buffer.from(`${header}.${payload}`),
    key,
    Buffer.from(signature, "base64url"),
  );
  return isGood ? jsonOf(payload) : null;
}

const { keys } = JSON.parse(readFileSync(keyFile, "utf8"));
/** By object: its digests after some records, as they were signed. */
const signed = new Map();
for (const [at, jws] of linesOf(join(directory, "heads.jsonl")).entries()) {
  const payload = readSigned(jws, keys);
  if (payload?.type !== TYPE) fail(`heads.jsonl: line ${at + 1} is not signed by a known key`);
  else for (const head of payload.heads) signed.set(head.object, [...(signed.get(head.object) ?? []), head]);
}
if (signed.size === 0) fail("there is no signed head");

/** Compares the lines of an object with its heads. Returns the digest after its last record. */
function check(object, heads) {
  const lines = linesOf(join(directory, `${object.replace("/", "-")}.jsonl`));
  const bySeq = heads.toSorted((a, b) => a.seq - b.seq);
  let [digest, good, next] = [bySeq[0].begins, 0, 0];
  if (bySeq.some(({ begins }) => begins !== digest)) return fail(`${object}: two heads say that it begins differently`);
  for (let seq = 0; seq <= lines.length; seq++) {
    if (seq > 0) {
      const before = Buffer.from(digest, "base64url");
      digest = createHash("sha256")
        .update(before)
        .update(lines[seq - 1])
        .digest("base64url");
    }
    for (; bySeq[next]?.seq === seq; next++) {
      if (bySeq[next].digest !== digest)
        return fail(`${object}: a record was changed or taken out between ${good + 1} and ${seq}`);
      good = seq;
    }
  }
  const last = bySeq.at(-1).seq;
  if (lines.length < last) return fail(`${object}: the archive ends after ${lines.length} of ${last} records`);
  const unsigned = lines.length - good;
  console.log(
    `${object}: ${good} records are good${unsigned > 0 ? `, ${unsigned} later ones have no signed head yet` : ""}`,
  );
  return digest;
}

for (const [object, heads] of signed) {
  const digest = check(object, heads);
  const [shard, number] = object.split("/");
  const following = signed.get(`${shard}/${Number(number) + 1}`)?.[0];
  if (digest && following && following.begins !== digest)
    fail(`${object}: the next object does not begin with its end`);
}
process.exitCode = problems > 0 ? 1 : 0;
