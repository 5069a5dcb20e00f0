/**
 * Verifies an archive of the audit store offline: node verify-audit-archive.js DIR [JWKS]. DIR is what `grove audit archive`
 * wrote: SHARD-NUMBER.jsonl with the lines of an object, heads.jsonl with signed heads. Or it is a copy of the folder
 * ID/audit of a bucket: the same lines in the files of SHARD-NUMBER/, a head in each file of heads/. JWKS (jwks.json of DIR
 * unless given) has the public keys of the issuer: give a copy that you trust, since who writes the archive could write that
 * file too. Each head says which digest the chain of an object has after a record. Exit code 1: something is wrong.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
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

const namesIn = (folder) => (existsSync(folder) ? readdirSync(folder).toSorted() : []);
/** The texts of NAME.jsonl, or of the files of NAME/ in order. */
const textsOf = (name) =>
  [join(directory, `${name}.jsonl`), ...namesIn(join(directory, name)).map((file) => join(directory, name, file))]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"));
const linesOf = (name) => textsOf(name).flatMap((text) => text.split("\n").slice(0, -1));
const jsonOf = (part) => JSON.parse(Buffer.from(part, "base64url").toString());

/** The payload of a JWS; null when no known key has signed it. */
function readSigned(jws, keys) {
  const [header, payload, signature] = jws.split(".");
  const { alg, kid, typ } = jsonOf(header);
  const jwk = keys.find((key) => key.kid === kid && key.alg === alg);
  if (!jwk || typ !== TYPE || (alg !== "EdDSA" && !HASHES[alg])) return null;
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
  const content = Buffer.from(`${header}.${payload}`);
  return verify(HASHES[alg] ?? null, content, key, Buffer.from(signature, "base64url")) ? jsonOf(payload) : null;
}

const { keys } = JSON.parse(readFileSync(keyFile, "utf8"));
const isBucket = existsSync(join(directory, "heads"));
/** By object: its digests after some records, as they were signed. */
const signed = new Map();
for (const [at, jws] of textsOf("heads")
  .flatMap((text) => text.trim().split("\n"))
  .entries()) {
  const payload = jws === "" ? null : readSigned(jws, keys);
  if (payload?.type !== TYPE) fail(`head ${at + 1} is not signed by a known key`);
  else for (const head of payload.heads) signed.set(head.object, [...(signed.get(head.object) ?? []), head]);
}
if (signed.size === 0) fail("there is no signed head");

/** Compares the lines of an object with its heads. Returns the digest after its last record. */
function check(object, heads) {
  const [shard, number] = object.split("/");
  const lines = linesOf(`${shard}-${number}`);
  const bySeq = heads.toSorted((a, b) => a.seq - b.seq);
  const last = bySeq.at(-1).seq;
  // A bucket gets an object when it is full.
  const hasNext = existsSync(join(directory, `${shard}-${Number(number) + 1}`));
  if (isBucket && lines.length === 0 && !hasNext)
    return console.log(`${object}: not in the archive yet, at least ${last} records`);
  let [digest, good, next] = [bySeq[0].begins, 0, 0];
  if (bySeq.some(({ begins }) => begins !== digest)) return fail(`${object}: two heads say that it begins differently`);
  for (let seq = 0; seq <= lines.length; seq++) {
    const before = Buffer.from(digest, "base64url");
    if (seq > 0)
      digest = createHash("sha256")
        .update(before)
        .update(lines[seq - 1])
        .digest("base64url");
    for (; bySeq[next]?.seq === seq; next++) {
      if (bySeq[next].digest !== digest)
        return fail(`${object}: a record was changed or taken out between ${good + 1} and ${seq}`);
      good = seq;
    }
  }
  if (lines.length < last) return fail(`${object}: the archive ends after ${lines.length} of ${last} records`);
  const more = lines.length > good ? `, ${lines.length - good} later ones have no signed head yet` : "";
  console.log(`${object}: ${good} records are good${more}`);
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
