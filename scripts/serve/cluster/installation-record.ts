import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { parseSealKey, type SealKey } from "../../../src/crypto/key-ring.ts";
import { isBehind, isReleaseBeside } from "../../local/release-compatibility.ts";
import type { BucketProblem, ClusterBucket } from "./bucket.ts";

/** The record of an installation in its bucket. */
export const INSTALLATION_KEY = "installation";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CONTEXT = "grove cluster installation 1";
/** Most writes: one that loses against another node is tried again on top of that node's record. */
const MAX_TRIES = 5;

/** The identity that all nodes share. */
interface ClusterIdentity {
  /** Secret, part of the unique key of every class of objects. */
  readonly id: string;
  /** Identifies the cluster key without revealing it. */
  readonly clusterKeyTag: string;
  /** Newest release that a node of the cluster has run. */
  readonly release: string;
}

/** Version of the format, version of the seal key, and the sealed installation. */
const RECORD = /^grove-cluster-1\.([1-9]\d{0,5})\.([\w-]{1,4096})\n$/;

/** The secrets of a node. */
export interface NodeSecrets {
  /** In the format of GROVE_SEAL_KEY and GROVE_SEAL_KEY_PREVIOUS. */
  readonly sealKey: string;
  readonly previousSealKey: string | undefined;
  readonly clusterKey: string;
  readonly previousClusterKey: string | undefined;
  readonly release: string;
}

interface Opened {
  readonly installation: ClusterIdentity;
  /** True when the record was sealed with the previous seal key. */
  readonly byPrevious: boolean;
}

/**
 * Returns the id of the bucket's installation, which the first node makes. The record is sealed with the seal key, so a node with another
 * seal key can't read it, and without the key no record can be made. The error names the mismatch.
 */
export async function joinInstallation(
  bucket: Pick<ClusterBucket, "get" | "put" | "hasEngineData" | "nameOf">,
  secrets: NodeSecrets,
): Promise<Result<string, BucketProblem>> {
  const sealKey = parseSealKey(secrets.sealKey);
  if (!sealKey.ok) return refused(`GROVE_SEAL_KEY ${sealKey.error}`);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await bucket.get(INSTALLATION_KEY);
    if (!found.ok) return found;
    const opened = found.value === null ? ok(null) : openRecord(found.value.text, sealKey.value, secrets);
    if (!opened.ok) return refused(opened.error);
    if (opened.value === null) {
      // A new id would hide the existing objects, and `sys/init` would be open again.
      const orphaned = await bucket.hasEngineData();
      if (!orphaned.ok) return orphaned;
      // Another node may have made the record since it was read.
      if (orphaned.value && tries === 0) continue;
      if (orphaned.value) return refused(goneRecord(bucket));
    }
    const joined = opened.value ? joinedBy(opened.value, secrets) : ok(newInstallation(secrets));
    if (!joined.ok) return refused(joined.error);
    if (found.value !== null && joined.value === opened.value?.installation) return ok(joined.value.id);
    const condition = found.value === null ? ({ ifNoneMatch: "*" } as const) : { ifMatch: found.value.etag };
    const written = await bucket.put(INSTALLATION_KEY, sealRecord(joined.value, sealKey.value), condition);
    if (!written.ok) return written;
    if (written.value !== null) return ok(joined.value.id);
  }
  return err({ message: "other nodes write the record of the installation all the time", passes: true });
}

function goneRecord(bucket: Pick<ClusterBucket, "nameOf">): string {
  const record = bucket.nameOf(INSTALLATION_KEY);
  return `the bucket has objects of an installation, and ${record}, which names it, is gone: bring back its newest version (or choose another --cluster s3://BUCKET/PREFIX for a new installation)`;
}

function refused(message: string): Result<never, BucketProblem> {
  return err({ message, passes: false });
}

function newInstallation({ clusterKey, release }: NodeSecrets): ClusterIdentity {
  const id = randomBytes(16).toString("hex");
  return { id, clusterKeyTag: tagOf(id, clusterKey), release };
}

/** The installation after this node has joined; the same object when nothing changes. */
function joinedBy({ installation, byPrevious }: Opened, secrets: NodeSecrets): Result<ClusterIdentity, string> {
  const { id, clusterKeyTag, release } = installation;
  const { clusterKey, previousClusterKey } = secrets;
  const isNewKey = !sameText(tagOf(id, clusterKey), clusterKeyTag);
  if (isNewKey && (previousClusterKey === undefined || !sameText(tagOf(id, previousClusterKey), clusterKeyTag))) {
    return err(
      "GROVE_CLUSTER_KEY is not that of this cluster. For a rotation set the old one as GROVE_CLUSTER_KEY_PREVIOUS",
    );
  }
  if (!isReleaseBeside(secrets.release, release)) {
    return err(
      `release ${secrets.release} can't run beside ${release}, which this cluster has had (docs/upgrading.md)`,
    );
  }
  const newest = isBehind(release, secrets.release) ? secrets.release : release;
  if (!isNewKey && newest === release && !byPrevious) return ok(installation);
  return ok({ id, clusterKeyTag: tagOf(id, clusterKey), release: newest });
}

function sealRecord(installation: ClusterIdentity, sealKey: SealKey): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", recordKey(sealKey), nonce).setAAD(Buffer.from(CONTEXT));
  const body = Buffer.concat([cipher.update(JSON.stringify(installation), "utf8"), cipher.final()]);
  const sealed = Buffer.concat([nonce, body, cipher.getAuthTag()]).toString("base64url");
  return `grove-cluster-1.${sealKey.version}.${sealed}\n`;
}

function openRecord(text: string, current: SealKey, { previousSealKey }: NodeSecrets): Result<Opened, string> {
  const [, versionText, sealed] = RECORD.exec(text) ?? [];
  if (versionText === undefined || sealed === undefined)
    return err(
      `the object ${INSTALLATION_KEY} in the bucket can't be read: another release wrote it, or it is damaged`,
    );
  const version = Number(versionText);
  const previous = previousSealKey ? parseSealKey(previousSealKey) : err("");
  const byPrevious = version !== current.version && previous.ok && previous.value.version === version;
  const key = byPrevious ? previous.value : current;
  const installation = key.version === version ? unseal(Buffer.from(sealed, "base64url"), key) : null;
  if (installation) return ok({ installation, byPrevious });
  return err(
    `GROVE_SEAL_KEY is not that of this cluster, whose record version ${version} sealed (or the record in the bucket was changed)`,
  );
}

function unseal(sealed: Buffer, key: SealKey): ClusterIdentity | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv("aes-256-gcm", recordKey(key), sealed.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(CONTEXT))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const plain = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    // The seal key authenticates the text, so it was written by `sealRecord`.
    return JSON.parse(plain.toString("utf8"));
  } catch {
    return null;
  }
}

/** A derived key, so that the seal key has one use. */
function recordKey({ bytes }: SealKey): Buffer {
  return Buffer.from(hkdfSync("sha256", bytes, "", CONTEXT, 32));
}

function tagOf(id: string, clusterKey: string): string {
  return createHmac("sha256", clusterKey).update(`${CONTEXT} ${id}`).digest("hex");
}

function sameText(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
