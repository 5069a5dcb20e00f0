import { runInDurableObject } from "cloudflare:test";
import type { ListedPart } from "../../src/backup/export.ts";
import { compress, decompress } from "../../src/backup/part-format.ts";
import { xor } from "../../src/backup/seals.ts";
import { fromBase64, toBase64 } from "../../src/crypto/bytes.ts";
import { forgetInstallation } from "../../src/system/installation.ts";
import { systemOf } from "../../src/system/system.ts";
import { crash, objectsOfFile } from "./objects.ts";
import { type Answer, bindings, bodyOf, call, dataOf } from "./service.ts";

/** A part, as the server answers it. */
export interface AnsweredPart extends ListedPart {
  readonly run: string;
  readonly content: string;
}

/** A backup in memory. */
export interface Backup {
  readonly head: { readonly run: string; readonly parts: number; readonly seal: string; readonly key_ring: string };
  readonly parts: readonly AnsweredPart[];
}

/** A position after all trees. */
const AFTER_TREES = JSON.stringify({ after: "a~", within: null });

/**
 * Makes a backup of the installation of this test file.
 *
 * @param afterTrees is done once the trees are read, which are few here, and before anything else is.
 */
export async function backUp(root: string, afterTrees?: () => Promise<void>): Promise<Backup> {
  const parts: AnsweredPart[] = [];
  for (let position: string | null = ""; position !== null; ) {
    if (parts.length === 1) await afterTrees?.();
    const until = afterTrees && parts.length === 0 ? AFTER_TREES : "";
    const body = { run: parts[0]?.run ?? "", number: parts.length, position, until };
    const part: AnsweredPart = dataOf(await call("POST", "sys/backup/part", { token: root, body }));
    parts.push(part);
    position = part.next;
  }
  const body = { run: parts[0]?.run, parts: parts.length };
  return { parts, head: dataOf(await call("POST", "sys/backup/seal", { token: root, body })) };
}

/** Deletes everything that is stored, as if the deployment was new. The ids of objects stay those of this deployment. */
export async function loseEverything(): Promise<void> {
  const system = systemOf(bindings).id.toString();
  // System is the last: an object that wakes asks it for the keys.
  const objects = [...objectsOfFile()].sort(([a], [b]) => Number(a === system) - Number(b === system));
  for (const [, stub] of objects) {
    await runInDurableObject(stub(), async (_, { storage }) => {
      await storage.deleteAll();
      await storage.sync();
    });
    await crash(stub());
  }
  forgetInstallation();
}

/** Begins a restore. */
export function begin({ head }: Backup): Promise<Answer> {
  return call("POST", "sys/restore/begin", { body: head });
}

/** Restores the parts of a backup in the order in which a client does. Returns the proof. */
export async function restoreParts({ parts }: Backup): Promise<string> {
  let proof: Uint8Array = new Uint8Array(32);
  for (const part of parts.toSorted((a, b) => Number(b.restored_first) - Number(a.restored_first))) {
    const answer = await restorePart(part);
    if (answer.status !== 200) throw new Error(`a part was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    proof = xor(proof, fromBase64(dataOf<{ receipt: string }>(answer).receipt) ?? proof);
  }
  return toBase64(proof);
}

/** Restores a part. */
export function restorePart({
  number,
  sha256,
  seal,
  content,
}: Pick<AnsweredPart, "number" | "sha256" | "seal" | "content">): Promise<Answer> {
  return call("POST", "sys/restore/part", { body: { number, sha256, seal, content } });
}

/** What the end of a restore ends. */
interface Ends {
  readonly issued_since?: string;
  readonly issued_before?: string;
}

/** Ends a restore. */
export function finish({ head }: Backup, proof: string, ends: Ends = {}): Promise<Answer> {
  return call("POST", "sys/restore/finish", { body: { ...head, proof, ...ends } });
}

/** Restores a backup into the deployment, which holds nothing. */
export async function restore(backup: Backup, ends: Ends = {}): Promise<void> {
  const begun = await begin(backup);
  if (begun.status !== 204) throw new Error(`the begin was answered ${begun.status}: ${JSON.stringify(bodyOf(begun))}`);
  const finished = await finish(backup, await restoreParts(backup), ends);
  if (finished.status !== 204)
    throw new Error(`the end was answered ${finished.status}: ${JSON.stringify(bodyOf(finished))}`);
}

/** The text of a part. */
export async function textOf(content: string): Promise<string> {
  const text = decompress(fromBase64(content) ?? new Uint8Array(), 2 ** 24);
  if (!text.ok) throw new Error(text.error);
  return text.value;
}

/** A part with another text under the same seal. */
export async function changedPart(part: AnsweredPart, change: (text: string) => string): Promise<AnsweredPart> {
  return { ...part, content: toBase64(await compress(change(await textOf(part.content)))) };
}
