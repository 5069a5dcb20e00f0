import { currentTime } from "../base/clock.ts";
import type { RowKeys, SealedContent } from "../crypto/row-keys.ts";
import { reportTampering } from "./tampering.ts";

/**
 * The seals of the rows of one object, see docs/decisions/0007. Rows that decide about access are written with a seal and
 * admitted by it when they are read.
 */
export class RowSeals {
  readonly #object: string;
  readonly #keys: () => RowKeys | null;

  /**
   * @param object id of the object.
   * @param keys null while the installation has no keys: nothing can be sealed, and there is nothing to protect yet.
   */
  constructor(object: string, keys: () => RowKeys | null) {
    this.#object = object;
    this.#keys = keys;
  }

  /** The seal for a row that is being written. */
  make(kind: string, row: string, content: SealedContent): Uint8Array<ArrayBuffer> | null {
    return this.#keys()?.seal({ kind, object: this.#object, row }, content, currentTime()) ?? null;
  }

  /**
   * True when a row that was read may be used. One that may not is reported.
   *
   * @param seal as stored; null without one.
   * @param renew stores a seal for a row that lacks one or has one of an older term.
   */
  admit(
    kind: string,
    row: string,
    content: SealedContent,
    seal: ArrayBuffer | null,
    renew: (seal: Uint8Array<ArrayBuffer>) => void,
  ): boolean {
    const keys = this.#keys();
    if (!keys) return true;
    const place = { kind, object: this.#object, row };
    const now = currentTime();
    const verdict = keys.check(place, content, seal && new Uint8Array(seal), null, now);
    if (verdict === "forged") reportTampering(place);
    if (verdict === "renew") renew(keys.seal(place, content, now));
    return verdict !== "forged";
  }
}
