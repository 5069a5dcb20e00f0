import type { Token } from "../../client/answers.d.ts";

/** Tokens that an export has at most. */
export const MOST_EXPORTED = 10_000;

/** The columns of an export, as the API calls the fields. */
const FIELDS = [
  "accessor",
  "display_name",
  "mount",
  "role",
  "path",
  "policies",
  "metadata",
  "entity_id",
  "created",
  "expires",
  "last_used",
  "type",
  "orphan",
  "parent",
  "children",
  "uses_left",
  "period",
  "tree",
] as const;

/** A spreadsheet takes a cell that begins so for a formula, some also by the wide signs of East Asian keyboards. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@|%＝＋－＠]|^[\t\r\n]/u;
/** The same within a cell, where it begins one if the spreadsheet separates by semicolons or tabs. */
const INNER_FORMULA = /([;\t\r\n][\s\p{Cf}"]*)(?=[=+\-@|%＝＋－＠])/gu;
/** An id that the server made: it can call no function, and has to stay as it is to be looked up. */
const ID = /^[A-Za-z0-9_-]{40,}$/;

/** Tokens as CSV (RFC 4180) with a line of names. No cell is a formula: what looks like one begins with an apostrophe. */
export function csvOf(tokens: readonly Token[]): string {
  const rows = tokens.map((token) => FIELDS.map((field) => cellOf(token[field])));
  return [FIELDS, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function cellOf(value: Token[keyof Token]): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(" ");
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

function quoted(cell: string): string {
  const safe = FORMULA.test(cell) && !ID.test(cell) ? `'${cell}` : cell;
  return `"${safe.replace(INNER_FORMULA, "$1'").replaceAll('"', '""')}"`;
}

/** Tokens as JSON, with what was asked, and whether there are more. */
export function jsonOf(tokens: readonly Token[], filter: Readonly<Record<string, string>>, more: boolean): string {
  return `${JSON.stringify({ filter, count: tokens.length, more, tokens }, null, 2)}\n`;
}
