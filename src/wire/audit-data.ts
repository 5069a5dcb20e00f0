import type { GenerationalCache } from "../base/generational-cache.ts";
import { MAX_JSON_DEPTH } from "../base/limits.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { auditHash } from "./audit-masking.ts";

/** The fields of a request, and what a line may show of them. */
export interface LoggedData {
  readonly data: Readonly<Record<string, unknown>>;
  /** True for the name of a field that the endpoint defines. */
  readonly isKnown: (name: string) => boolean;
  /** Names of the fields whose texts the mount shows as they are. */
  readonly plain: readonly string[];
  /** Maximum number of entries: values, and names that the endpoint does not define. */
  readonly most: number;
}

/** Entries of a line about a caller with a token: no body that is accepted has more texts. */
export const CALLER_ENTRIES = 1000;
/** Entries of a line about anybody, before a login or an open endpoint acts. */
export const OPEN_ENTRIES = 100;

interface FieldHashes {
  readonly keys: Keys;
  readonly fieldHashes: GenerationalCache<string, string>;
}

/** Fields without secrets that have few different values in most requests. */
const REPEATED_FIELDS: ReadonlySet<string> = new Set([
  ...["type", "ttl", "period", "explicit_max_ttl", "increment", "policies", "display_name", "role"],
]);

const MAX_REPEATED_TEXT = 64;
/** Maximum length of a text that is shown as it is. */
const MAX_PLAIN_TEXT = 1024;
/** The name of the number of entries that are left out. */
const MORE = "<more>";

/**
 * Returns the fields of a request for the log. Texts are keyed hashes, and so are names that the endpoint does not
 * define: a secret that was pasted without the name of its field is a name. Names inside of a value are never defined.
 * Known fields come first, so that others can't take their room.
 */
export async function auditData(
  hashes: FieldHashes,
  { data, isKnown, plain, most }: LoggedData,
): Promise<Readonly<Record<string, unknown>>> {
  const repeated = (text: string) => repeatedHash(hashes, text);
  const secret = (text: string) => auditHash(hashes.keys, text);
  const shown = async (text: string) => (text.length > MAX_PLAIN_TEXT ? secret(text) : text);
  const line = new DataLine(repeated, most);
  const names = Object.keys(data);
  const isDefined = (name: string) => isKnown(name) || plain.includes(name);
  const { true: known = [], false: others = [] } = Object.groupBy(names, (name) => `${isDefined(name)}`);
  const texts = (name: string) => (plain.includes(name) ? shown : REPEATED_FIELDS.has(name) ? repeated : secret);
  const entries = known.map(async (name) => [name, await line.value(texts(name), data[name], MAX_JSON_DEPTH - 1)]);
  const rest = Object.fromEntries(others.map((name) => [name, data[name]]));
  return {
    ...Object.fromEntries(await Promise.all(entries)),
    ...(await line.object(secret, rest, MAX_JSON_DEPTH - 1)),
  };
}

async function repeatedHash({ keys, fieldHashes }: FieldHashes, text: string): Promise<string> {
  const known = fieldHashes.get(text);
  if (known !== undefined) return known;
  const hash = await auditHash(keys, text);
  if (text.length <= MAX_REPEATED_TEXT) fieldHashes.set(text, hash, text.length + hash.length);
  return hash;
}

type ShowText = (text: string) => Promise<string>;

/** The fields of one line. Entries are counted before the first await, so in their order. */
class DataLine {
  readonly #showName: ShowText;
  #left: number;

  constructor(showName: ShowText, most: number) {
    this.#showName = showName;
    this.#left = most;
  }

  /** @param depth maximum number of further levels. A value that another Worker sends can contain itself. */
  async value(showText: ShowText, value: unknown, depth: number): Promise<unknown> {
    this.#left--;
    if (typeof value === "string") return showText(value);
    if (typeof value === "bigint") return showText(String(value));
    if (typeof value !== "object" || value === null) return value;
    if (depth === 0) return "<too deep>";
    return Array.isArray(value) ? this.#list(showText, value, depth) : this.object(showText, value, depth);
  }

  async #list(showText: ShowText, list: readonly unknown[], depth: number): Promise<unknown[]> {
    const items: Promise<unknown>[] = [];
    for (const item of list) {
      if (this.#left <= 0) break;
      items.push(this.value(showText, item, depth - 1));
    }
    const more = list.length - items.length;
    return [...(await Promise.all(items)), ...(more > 0 ? [{ [MORE]: more }] : [])];
  }

  /** An object with names that no schema defines. */
  async object(showText: ShowText, object: object, depth: number): Promise<Record<string, unknown>> {
    const entries: Promise<[string, unknown]>[] = [];
    const all = Object.entries(object);
    for (const [name, item] of all) {
      if (this.#left <= 0) break;
      this.#left--;
      const value = this.value(showText, item, depth - 1);
      entries.push(Promise.all([this.#showName(name), value]));
    }
    const more = all.length - entries.length;
    return { ...Object.fromEntries(await Promise.all(entries)), ...(more > 0 && { [MORE]: more }) };
  }
}
