/**
 * Verifies an archive of the audit store offline: node verify-audit-archive.js DIR [JWKS]. DIR is one of `grove audit archive`
 * (SHARD-NUMBER.jsonl: lines of an object; heads.jsonl: signed heads, which have the digests of the objects' hash chains), or
 * a copy of ID/audit of a bucket (SHARD-NUMBER/, heads/). JWKS (default: DIR/jwks.json) has the issuer's public keys: give a
 * copy that you trust. Exit codes: 1 something is wrong, 2 there is nothing to verify, or no keys to verify it with.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [directory, keyFile = join(directory ?? "", "jwks.json")] = process.argv.slice(2);
if (directory === undefined || directory.startsWith("-")) fail("usage: node verify-audit-archive.js DIR [JWKS]", 2);
const HASHES = { RS256: "sha256", RS384: "sha384", RS512: "sha512", ES256: "sha256", ES384: "sha384", ES512: "sha512" };
const TYPE = "grove-audit-head";
process.on("uncaughtException", ({ message }) => fail(`it can't be read: ${message}`, 2));
function fail(message, code = 1) {
  console.log(message);
  process.exitCode ||= code;
  if (code === 2) process.exit();
}
const namesIn = (folder) => (existsSync(folder) ? readdirSync(folder).toSorted() : []);
/** The texts of NAME.jsonl, or of the files of NAME/ in order. */
const textsOf = (name) =>
  [join(directory, `${name}.jsonl`), ...namesIn(join(directory, name)).map((file) => join(directory, name, file))]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"));
const linesOf = (name) => textsOf(name).flatMap((text) => text.split("\n").slice(0, -1));
const jsonOf = (part) => JSON.parse(Buffer.from(part, "base64url").toString());
/** The payload of a JWS; null without a valid signature by a known key. */
function readSigned(jws, keys) {
  const [header, payload, signature] = jws.split(".");
  const { alg, kid, typ } = jsonOf(header);
  const jwk = keys.find((key) => key.kid === kid && key.alg === alg);
  if (!jwk || typ !== TYPE || (alg !== "EdDSA" && !HASHES[alg])) return null;
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
  const bytes = Buffer.from(signature, "base64url");
  return verify(HASHES[alg] ?? null, Buffer.from(`${header}.${payload}`), key, bytes) ? jsonOf(payload) : null;
}
const isBucket = existsSync(join(directory, "heads")) && !existsSync(join(directory, "heads.jsonl"));
const signed = new Map(); // the heads of each object, with their times
const texts = textsOf("heads").flatMap((text) => text.trim().split("\n"));
/** Finds records that the server could not give. */
function checkWhole(object, lines) {
  const missing = lines.flatMap((line, at) => (/^\{"type":"(?:missing|unreadable)"\}$/.test(line) ? at + 1 : []));
  if (missing.length > 0)
    fail(`${object}: ${missing.length} records are missing or can't be read, the first ${missing[0]}`);
}
if (!existsSync(directory)) fail(`${directory}: there is no such directory`, 2);
if (texts.join("") === "") {
  const names = new Set(namesIn(directory).flatMap((name) => /^(\d+-\d+)(?:\.jsonl)?$/.exec(name)?.[1] ?? []));
  for (const name of names) {
    const [object, lines] = [name.replace("-", "/"), linesOf(name)];
    console.log(`${object}: ${lines.length} records, without a head that says if they were changed`);
    checkWhole(object, lines);
  }
  if (names.size === 0)
    fail(`${directory}: no records and no head: this is no archive, or all of it was taken away`, 2);
  fail(`${directory}: no signed head: not made yet (once an hour), or taken away`, 2);
}
const { keys } = JSON.parse(readFileSync(keyFile, "utf8"));
const read = texts.map((jws) => (jws !== "" && readSigned(jws, keys)) || {});
const statements = read.filter(({ type }) => type === TYPE).toSorted((a, b) => (a.time < b.time ? -1 : 1));
for (const [at, { type }] of read.entries()) if (type !== TYPE) fail(`head ${at + 1} is not signed by a known key`);
let before = new Map(); // the numbers that the last head names, by shard: only the first are left out later, once deleted
for (const { time, heads } of statements) {
  const own = new Map();
  for (const { dropped, ...head } of heads) {
    const [shard, number] = head.object.split("/");
    own.set(shard, [...(own.get(shard) ?? []), Number(number)]);
    if (!dropped) signed.set(head.object, [...(signed.get(head.object) ?? []), { ...head, time }]);
  }
  for (const [shard, numbers] of before) {
    const first = Math.min(...(own.get(shard) ?? []), Math.max(...numbers));
    const wrong = numbers.find((number) => number >= first && !own.get(shard)?.includes(number));
    if (wrong) fail(`${shard}/${wrong}: an earlier head names it, that of ${time} does not`);
  }
  before = own;
}
if (signed.size === 0) fail("there is no signed head");
const digestAfter = (digest, line) => createHash("sha256").update(digest, "base64url").update(line).digest("base64url");
/** Compares the lines of an object with its heads. Returns the digest after its last record. */
function check(object, lines, heads) {
  const bySeq = heads.toSorted((a, b) => a.seq - b.seq);
  let [digest, good, next, last] = [bySeq[0].begins, 0, 0, bySeq.at(-1).seq];
  if (bySeq.some(({ begins }) => begins !== digest)) return fail(`${object}: two heads say that it begins differently`);
  for (let seq = 0; seq <= lines.length; seq++) {
    if (seq > 0) digest = digestAfter(digest, lines[seq - 1]);
    for (; bySeq[next]?.seq === seq; next++) {
      if (bySeq[next].digest !== digest)
        return fail(`${object}: a record was changed or taken out between ${good + 1} and ${seq}`);
      good = seq;
    }
  }
  const gap = `the archive has ${lines.length} of ${last} records: one or more after record ${good} are missing`;
  if (lines.length < last) return fail(`${object}: ${gap}`);
  checkWhole(object, lines.slice(good));
  const more = lines.length - good;
  console.log(`${object}: ${good} records are good${more > 0 ? `, ${more} later ones have no signed head yet` : ""}`);
  return digest;
}
for (const [object, heads] of signed) {
  const [shard, number] = object.split("/");
  const [lines, next] = [linesOf(`${shard}-${number}`), `${shard}/${Number(number) + 1}`];
  const later = [...signed.keys()].map((key) => key.split("/")).filter(([a, b]) => a === shard && Number(b) > number);
  const following = signed.get(next);
  if (later.length > 0 && !following) fail(`${object}: no signed head names the next object`);
  // An object is written to a bucket when it is full, before the next object begins. The last full one may still be missing.
  const isOnItsWay = later.length === 1 && following?.every(({ time }) => time === statements.at(-1).time);
  const hasNext = existsSync(join(directory, next.replace("/", "-")));
  if (isBucket && lines.length === 0 && !hasNext && (later.length === 0 || isOnItsWay)) {
    const state = `${isOnItsWay ? "full since the newest head, and " : ""}not in the archive yet`;
    console.log(`${object}: ${state}, at least ${Math.max(...heads.map(({ seq }) => seq))} records`);
    continue;
  }
  const digest = check(object, lines, heads);
  if (digest && following && following[0].begins !== digest)
    fail(`${object}: the next object does not begin with its end`);
}
