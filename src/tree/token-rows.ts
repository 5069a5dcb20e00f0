import { currentTime, type Ms, type Seconds } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { concat } from "../crypto/bytes.ts";
import type { RowKeys, RowPlace, SealVerdict } from "../crypto/row-keys.ts";
import { reportTampering } from "../storage/row-seals.ts";
import { type Migration, type SchemaVersions, storedJson, Tables } from "../storage/tables.ts";
import { endingWatermark } from "../system/watermarks.ts";
import { LIVE } from "../token/end-record.ts";
import { type NewTokenIds, routedIdText } from "../token/ids.ts";
import type { TokenRecord } from "../token/record.ts";
import type { TreeKeys } from "./tree-keys.ts";

/** SQL: the key of a token in the directory of custom ids. */
export const CUSTOM_ID_KEY = "json_extract(record, '$.customIdKey')";

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

/** Indexes of the table, made with the second token: most trees are one login and never have another token. */
export const TOKEN_INDEX_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "children of a token, tokens by expiry, dead tokens",
    // Partial indexes: they contain only the rows that are searched by them.
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
 * Seals the fields of a token's row that never change. Those that change (state, uses, expiry, parent) are not covered:
 * an attacker who can write them could as well put back an older row with its seal.
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

/** The columns of a token that change. */
type ChangingColumns = {
  row: number;
  parent: number | null;
  state: number;
  usesLeft: number;
  grantedTtl: Seconds;
  expiresAt: Ms | null;
  renewedAt: Ms | null;
  /** JSON of an `EndRecord`; null without a mark. */
  ended: string | null;
};

type Columns = ChangingColumns & { verifier: ArrayBuffer; accessor: ArrayBuffer; record: string };

/** The decoded columns of a token that never change. */
interface FixedPart {
  readonly verifier: Uint8Array;
  readonly accessorTail: Uint8Array;
  /** The accessor as clients know it. */
  readonly accessor: string;
  readonly record: TokenRecord;
}

/** Keys of seals and watermarks, for checks of rows. */
export type RowChecks = Pick<TreeKeys, "rowKeys" | "watermarks">;

/** A token as it is stored. */
export type TokenRow = ChangingColumns & { readonly fixed: FixedPart };

const CHANGING = `row, parent, state, uses_left AS usesLeft, granted_ttl AS grantedTtl, expires_at AS expiresAt,
  renewed_at AS renewedAt, ended`;
const ALL = `${CHANGING}, verifier, accessor, record`;
/** Size of an object's cache of decoded tokens, in characters of their records. One isolate can run many objects. */
const MAX_FIXED_CHARACTERS = 2 ** 17;

/** Reads the rows of the tokens of one tree, and checks the seals. */
export class TokenRows {
  readonly sql: Tables;
  protected readonly treeId: string;
  protected readonly keys: RowChecks;
  /** By row. Row numbers are never used again, so an entry stays valid. */
  readonly #fixed = new GenerationalCache<number, FixedPart>(MAX_FIXED_CHARACTERS);

  constructor(sql: SqlStorage, treeId: string, keys: RowChecks, versions: SchemaVersions) {
    this.sql = new Tables(sql, TOKEN_MIGRATIONS, "schema", versions);
    this.treeId = treeId;
    this.keys = keys;
  }

  /** The row with this number, alive or not. Null also when its seal is invalid: it was written without the keys. */
  find(row: number): TokenRow | null {
    const fixed = this.#fixed.get(row);
    if (!fixed) return this.#read(row);
    const found = this.sql.exec<ChangingColumns>(`SELECT ${CHANGING} FROM tokens WHERE row = ?`, row).toArray()[0];
    return found ? { ...found, fixed } : null;
  }

  exists(row: number): boolean {
    return this.sql.exec("SELECT 1 FROM tokens WHERE row = ?", row).toArray().length > 0;
  }

  /** The accessor of a token; null when there is none, or its seal is invalid. Uses the cache. */
  accessorOf(row: number): string | null {
    return (this.#fixed.get(row) ?? this.find(row)?.fixed)?.accessor ?? null;
  }

  /** Checks the seals of these rows and renews old ones. Returns the numbers of renewed and forged ones. */
  checkSeals(first: number, last: number): { readonly sealed: number; readonly tampered: number } {
    const rows = this.sql.exec<Columns>(`SELECT ${ALL} FROM tokens WHERE row >= ? AND row <= ?`, first, last).toArray();
    const verdicts = rows.map((row) => this.#checkSeal(row));
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
    };
  }

  /**
   * The live rows from `first` to `last` that watermarks end, each with the first watermark that does. While a
   * watermark is open, rows with a forged seal are included, without a watermark: their descendants are refused during
   * that time.
   */
  protected endedByWatermarks(first: number, last: number) {
    const watermarks = this.keys.watermarks();
    if (watermarks.all.size === 0) return [];
    return this.sql
      .exec<Columns>(`SELECT ${ALL} FROM tokens WHERE row >= ? AND row <= ? AND state = ${LIVE}`, first, last)
      .toArray()
      .flatMap((row) => {
        const mark = endingWatermark(watermarks, storedJson<TokenRecord>(row.record));
        const isForged = !mark && watermarks.open.size > 0 && this.#checkSeal(row) === "forged";
        return mark || isForged ? [{ row: row.row, mark }] : [];
      });
  }

  #read(row: number): TokenRow | null {
    const found = this.sql.exec<Columns>(`SELECT ${ALL} FROM tokens WHERE row = ?`, row).toArray()[0];
    if (!found || this.#checkSeal(found) === "forged") return null;
    const { verifier, accessor, record, ...changing } = found;
    const accessorTail = new Uint8Array(accessor);
    const fixed = {
      verifier: new Uint8Array(verifier, 0, VERIFIER_BYTES),
      accessorTail,
      accessor: routedIdText(this.treeId, row, accessorTail),
      record: storedJson<TokenRecord>(record),
    };
    this.#fixed.set(row, fixed, record.length);
    return { ...changing, fixed };
  }

  /** Checks the seal of a row, reports a forged one, and replaces one of an older term. */
  #checkSeal({ row, verifier: stored, accessor, record }: Columns): SealVerdict {
    const place = placeOfToken(this.treeId, row);
    if (stored.byteLength < VERIFIER_BYTES) {
      reportTampering(place);
      return "forged";
    }
    const verifier = new Uint8Array(stored, 0, VERIFIER_BYTES);
    const seal = new Uint8Array(stored, VERIFIER_BYTES);
    const content = [verifier, new Uint8Array(accessor), record];
    const keys = this.keys.rowKeys();
    const now = currentTime();
    const verdict = keys.check(place, content, seal, now);
    if (verdict === "forged") reportTampering(place);
    if (verdict === "renew") {
      const sealed = concat(verifier, keys.seal(place, content, now));
      this.sql.exec("UPDATE tokens SET verifier = ? WHERE row = ?", sealed, row);
    }
    return verdict;
  }
}
