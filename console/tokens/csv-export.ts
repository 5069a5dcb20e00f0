import type { Token } from "../../client/answers.d.ts";

/** Most tokens in an export. */
export const MOST_EXPORTED = 10_000;

/** The columns of an export, by the API's names of the fields. */
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

/** A cell that begins like this is a formula to spreadsheets; for some also with full-width signs. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@|%＝＋－＠]|^[\t\r\n]/u;
/** The beginning of a formula within a cell, if the spreadsheet splits cells at semicolons or tabs. */
const INNER_FORMULA = /([;\t\r\n][\s\p{Cf}"]*)(?=[=+\-@|%＝＋－＠])/gu;
/** A generated id. It can't call a function, and must stay unchanged to be looked up. */
const ID = /^[A-Za-z0-9_-]{40,}$/;

/** Tokens as CSV (RFC 4180) with a header. A cell that looks like a formula is escaped by an apostrophe. */
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

/** Tokens as JSON, with the filter, and whether more tokens match. */
export function jsonOf(tokens: readonly Token[], filter: Readonly<Record<string, string>>, more: boolean): string {
  return `${JSON.stringify({ filter, count: tokens.length, more, tokens }, null, 2)}\n`;
}
