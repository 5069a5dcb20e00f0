import { ok } from "../../../src/base/result.ts";
import { type Called, failed, type GroveClient } from "../../grove/client.ts";
import { type Manifest, RECEIPT, sumOf } from "./manifest.ts";
import type { BackupStore } from "./store.ts";

/** Times for the server that end tokens after a restore; "" for none. */
export interface EndedByRestore {
  /** See `--not-before`. */
  readonly issuedSince: string;
  /** See `--issued-before`. */
  readonly issuedBefore: string;
}

/** Numbers of a restore. */
export interface Restored {
  readonly at: string;
  readonly release: string;
  readonly parts: number;
  readonly objects: number;
  readonly rows: number;
}

/**
 * Restores a verified backup into a server that was never initialized. An interrupted restore is repeated from the beginning.
 *
 * @param progress is called after each part.
 */
export async function restoreBackup(
  client: GroveClient,
  store: BackupStore,
  manifest: Manifest,
  { issuedSince, issuedBefore }: EndedByRestore,
  progress: (parts: number) => void,
): Promise<Called<Restored>> {
  const { run, parts, seal, key_ring, files } = manifest;
  const begun = await client.call("POST", "sys/restore/begin", { run, parts, seal, key_ring });
  if (!begun.ok) return begun;
  const proof = Buffer.alloc(32);
  let done = 0;
  // The System object comes first: its watermarks keep ended tokens out of the lists.
  const order = files.toSorted((a, b) => Number(b.restored_first) - Number(a.restored_first) || a.number - b.number);
  for (const part of order) {
    const content = store.content(part);
    if (!content.ok) return failed(content.error);
    const { number, sha256, seal: sealOfPart } = part;
    const body = { number, sha256, seal: sealOfPart, content: content.value.toString("base64") };
    const restored = await client.post("sys/restore/part", RECEIPT, body);
    if (!restored.ok) return restored;
    const receipt = Buffer.from(restored.value.receipt, "base64");
    for (const [at, byte] of receipt.entries()) proof[at] = (proof[at] ?? 0) ^ byte;
    progress(++done);
  }
  const end = {
    run,
    parts,
    seal,
    proof: proof.toString("base64"),
    issued_since: issuedSince,
    issued_before: issuedBefore,
  };
  const finished = await client.call("POST", "sys/restore/finish", end);
  if (!finished.ok) return finished;
  return ok({ at: manifest.started_at, release: manifest.release, parts, ...sumOf(files) });
}
