import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { concat } from "../crypto/bytes.ts";
import type { RowKeys, RowPlace, SealVerdict } from "../crypto/row-keys.ts";
import { reportTampering } from "../storage/row-seals.ts";
import { type Migration, type Sql, storedJson } from "../storage/tables.ts";
import { endingWatermark, type Watermark, type Watermarks } from "../system/watermarks.ts";
import { type NewTokenIds, routedIdText } from "../token/ids.ts";
import type { TokenRecord } from "../token/record.ts";
import { LIVE } from "../token/state.ts";

/** SQL: the key of a token in the directory of custom ids. */
export const CUSTOM_ID_KEY = "json_extract(record, '$.customIdKey')";

/** The table of tokens. */
export const TOKEN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "tokens with their parent links",
    sql: `
      CREATE TABLE tokens (
        row INTEGER PRIMARY KEY,
        parent INTEGER,
        verifier BLOB NOT NULL,
        accessor BLOB NOT NULL,
        state INTEGER NOT NULL,
        uses_left INTEGER NOT NULL,
        granted_ttl INTEGER NOT NULL,
        expires_at INTEGER,
        renewed_at INTEGER,
        record TEXT NOT NULL,
        ended TEXT
      );
    `,
  },
];

/** Its indexes, of no use to a tree of one token: most trees are a login, and never have another. */
export const TOKEN_INDEX_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "children of a token, tokens by expiry, dead tokens",
    // Partial: they hold only rows that need them.
    sql: `
      CREATE INDEX tokens_by_parent ON tokens (parent) WHERE parent IS NOT NULL;
      CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX tokens_dead ON tokens (state) WHERE state <> 0;
    `,
  },
];

/** Bytes of the column `verifier` that are the verifier; the others are the seal of the row. */
const VERIFIER_BYTES = 24;

/**
 * The seal of a token's row: over what is fixed when the token is made. What changes (state, uses, end, parent) is not
 * covered: who can write it could as well put back an older row.
 */
export function sealToken(
  keys: RowKeys,
  treeId: string,
  token: Pick<NewTokenIds, "row" | "verifier" | "accessorTail"> & { readonly recordJson: string },
): Uint8Array<ArrayBuffer> {
  const content = [token.verifier, token.accessorTail, token.recordJson];
  return keys.seal(placeOfToken(treeId, token.row), content, currentTime());
}

function placeOfToken(treeId: string, row: number): RowPlace {
  return { kind: "token", object: treeId, row };
}

/** The columns of a token that change. Times in ms. */
type ChangingColumns = {
  row: number;
  parent: number | null;
  state: number;
  uses_left: number;
  granted_ttl: number;
  expires_at: number | null;
  renewed_at: number | null;
  /** JSON of a `EndRecord`, of a token with a mark. */
  ended: string | null;
};

/** All columns. */
type Columns = ChangingColumns & { verifier: ArrayBuffer; accessor: ArrayBuffer; record: string };

/** What is fixed when a token is made, read. */
export interface FixedPart {
  readonly verifier: Uint8Array;
  readonly accessorTail: Uint8Array;
  /** The text that clients know. */
  readonly accessor: string;
  readonly record: TokenRecord;
}

/** Keys and watermarks that validate rows. Called within transactions. */
export interface RowValidation {
  /** For seals of rows. */
  readonly rowKeys: () => RowKeys;
  readonly watermarks: () => Watermarks;
}

/** A token as it is stored. */
export type TokenRow = ChangingColumns & { readonly fixed: FixedPart };

const CHANGING = "row, parent, state, uses_left, granted_ttl, expires_at, renewed_at, ended";
/** Characters of the records of tokens in use that an object keeps read; there are many objects in one isolate. */
const MAX_FIXED_CHARACTERS = 2 ** 17;

/** Reads the rows of the tokens of one tree, and checks their seals. */
export class TokenRows {
  readonly #sql: Sql;
  readonly #treeId: string;
  readonly #validation: RowValidation;
  /** By row. Rows are never used again, so what is kept here stays true. */
  readonly #fixed = new GenerationalCache<number, FixedPart>(MAX_FIXED_CHARACTERS);

  constructor(sql: Sql, treeId: string, validation: RowValidation) {
    this.#sql = sql;
    this.#treeId = treeId;
    this.#validation = validation;
  }

  /** The row with this number, alive or not. Null also when its seal does not hold: it was written without the keys. */
  find(row: number): TokenRow | null {
    const fixed = this.#fixed.get(row);
    if (!fixed) return this.#read(row);
    const found = this.#sql.exec<ChangingColumns>(`SELECT ${CHANGING} FROM tokens WHERE row = ?`, row).toArray()[0];
    return found ? { ...found, fixed } : null;
  }

  /** True when a row with this number exists, alive or not. */
  exists(row: number): boolean {
    return this.#sql.exec("SELECT 1 FROM tokens WHERE row = ?", row).toArray().length > 0;
  }

  /** The accessor of the token in this row; null when there is none, or its seal does not hold. Reads nothing for one that was read before. */
  accessorOf(row: number): string | null {
    return (this.#fixed.get(row) ?? this.find(row)?.fixed)?.accessor ?? null;
  }

  /** Remembers a row that is being written: the list asks for a new token within seconds, and neither seal nor record is read again then. */
  written({ row, verifier, accessorTail, accessor }: NewTokenIds, recordJson: string): void {
    this.#fixed.set(row, { verifier, accessorTail, accessor, record: storedJson(recordJson) }, recordJson.length);
  }

  /**
   * Checks the seals of the rows from `first` to `last`, and seals those again whose seal is of an older term.
   *
   * @returns how many were sealed, and how many are forged.
   */
  checkSeals(first: number, last: number): { readonly sealed: number; readonly tampered: number } {
    const rows = this.#sql.exec<Columns>("SELECT * FROM tokens WHERE row >= ? AND row <= ?", first, last).toArray();
    const verdicts = rows.map((row) => this.#checkSeal(row));
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
    };
  }

  /**
   * The live rows from `first` to `last` that watermarks end, with the first that does. While a watermark is open also those whose seal
   * does not hold, without one: what hangs below them is refused for as long.
   */
  endedByWatermarks(first: number, last: number): { readonly row: number; readonly mark: Watermark | null }[] {
    const watermarks = this.#validation.watermarks();
    if (watermarks.all.size === 0) return [];
    return this.#sql
      .exec<Columns>(`SELECT * FROM tokens WHERE row >= ? AND row <= ? AND state = ${LIVE}`, first, last)
      .toArray()
      .flatMap((row) => {
        const mark = endingWatermark(watermarks, storedJson<TokenRecord>(row.record));
        const isForged = !mark && watermarks.open.size > 0 && this.#checkSeal(row) === "forged";
        return mark || isForged ? [{ row: row.row, mark }] : [];
      });
  }

  #read(row: number): TokenRow | null {
    const found = this.#sql.exec<Columns>("SELECT * FROM tokens WHERE row = ?", row).toArray()[0];
    if (!found || this.#checkSeal(found) === "forged") return null;
    const { verifier, accessor, record, ...changing } = found;
    const accessorTail = new Uint8Array(accessor);
    const fixed = {
      verifier: new Uint8Array(verifier, 0, VERIFIER_BYTES),
      accessorTail,
      accessor: routedIdText(this.#treeId, row, accessorTail),
      record: storedJson<TokenRecord>(record),
    };
    this.#fixed.set(row, fixed, record.length);
    return { ...changing, fixed };
  }

  /** Checks the seal of a row, reports a forged one, and replaces one of an older term. */
  #checkSeal({ row, verifier: stored, accessor, record }: Columns): SealVerdict {
    const place = placeOfToken(this.#treeId, row);
    if (stored.byteLength < VERIFIER_BYTES) {
      reportTampering(place);
      return "forged";
    }
    const verifier = new Uint8Array(stored, 0, VERIFIER_BYTES);
    const seal = new Uint8Array(stored, VERIFIER_BYTES);
    const content = [verifier, new Uint8Array(accessor), record];
    const keys = this.#validation.rowKeys();
    const now = currentTime();
    const verdict = keys.check(place, content, seal, now);
    if (verdict === "forged") reportTampering(place);
    if (verdict === "renew") {
      const sealed = concat(verifier, keys.seal(place, content, now));
      this.#sql.exec("UPDATE tokens SET verifier = ? WHERE row = ?", sealed, row);
    }
    return verdict;
  }
}
