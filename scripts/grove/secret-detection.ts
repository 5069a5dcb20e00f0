import { UUID_PATTERN } from "./uuid.ts";

/** What may stand directly before and after a secret, from the rules in ops/gitleaks.toml. */
const BEFORE = String.raw`(?:\b|\\[nrt]|%[0-9A-Fa-f]{2})`;
const AFTER = String.raw`(?:[^\w.-]|\.(?:[^\w-]|$)|$)`;

/** The forms of tokens, by the rules of ops/gitleaks.toml. A test compares the two. */
export const TOKEN_FORMS = {
  "grove-service-token": String.raw`${BEFORE}(s\.[\w-]{42}[AEIMQUYcgkosw048][A-Za-f][\w-]{40})${AFTER}`,
  "grove-batch-token": String.raw`${BEFORE}(b\.A[\w-]{250,})${AFTER}`,
  "grove-team-token": String.raw`${BEFORE}([0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67})${AFTER}`,
} as const;

/** Secrets of a deployment beside their names, also by these rules. */
export const DEPLOYMENT_SECRET = String.raw`GROVE_(?:SEAL|INIT|CLUSTER)_(?:KEY|TOKEN)(?:_PREVIOUS)?["']?(?:\s*[=:]\s*|\s+value:\s*)["']?((?:[1-9]\d{0,5}:)?[A-Za-z0-9+/_-]{32,}={0,2})`;

/** A seal key without its name: its number, and 32 bytes in base64. An init or cluster key has no form of its own. */
const SEAL_KEY = /(?<![\w:.-])([1-9]\d{0,5}:[A-Za-z0-9+/_-]{43}=?)(?![\w+/=-])/g;

/**
 * A text that resembles a token of Grove, of the reference or of a team, such as a damaged one. A name may also begin
 * with `s.`, but is shorter.
 */
const RESEMBLING = String.raw`(?:^|[^\w.-])((?:s|b|r)\.[\w-]{20,}|hv[sbr]\.[\w-]{8,}|grove-setup\.[\w-]{8,}|\w+\.atlasv1\.\w+)`;

/** A signed JWT, with which clients of an issuer log in: two JSON objects in base64url, and a signature. */
const JWT = String.raw`(?:^|[^\w.-]|%[0-9A-Fa-f]{2})(e[wy][\w-]{8,}\.e[wy][\w-]+\.[\w-]+)`;

/** A secret-id beside its name. Without the name it looks like any other UUID. */
const SECRET_ID = String.raw`secret[_-]?id\\*["']?[\s=:]+\\*["']?(${UUID_PATTERN})`;

/** A UUID, which may be a secret-id without its name. */
const LOOSE_UUID = new RegExp(String.raw`(?<![\w-])(${UUID_PATTERN})(?![\w-])`, "g");
/** The id of a secret's lease: the path that made it, and a tail in the form of an accessor. */
const LEASE_ID = /(?<![\w./-])([\w.-]+(?:\/[\w.-]+)*\/[\w-]{42}[AEIMQUYcgkosw048][A-Za-f][\w-]{40})(?![\w/-])/g;
/** Names of UUIDs that are no secrets. */
const NO_SECRET = /(?:accessor|(?:request|role|entity)[_-]?id)[\\"'\s=:]{1,8}$/i;

/** The beginning of CMS signed data in base64, the form of AWS's instance identity documents. */
const SIGNED_DATA = String.raw`MI(?:AGCSqGSIb3DQEHAq|I[\w+/]{3}YJKoZIhvcNAQcC)`;
/** An identity document on one line. */
const IDENTITY_DOCUMENT = String.raw`(?:^|[^\w+/])(${SIGNED_DATA}[\w+/]{200,}={0,2})`;

const BEGINS_DOCUMENT = new RegExp(`^${SIGNED_DATA}`);
/** Base64 is divided into lines of 64 or 76 characters. */
const BASE64_LINE = /^[\w+/]{1,76}={0,2}$/;

/** Whether a line can be the first, or a later, line of a multi-line identity document. */
export function documentLine(line: string): { readonly begins: boolean; readonly continues: boolean } {
  const continues = BASE64_LINE.test(line);
  return { begins: continues && BEGINS_DOCUMENT.test(line), continues };
}

/**
 * A whole token with other characters directly before or after it, such as a second one that is glued to it. A batch
 * token has no fixed length: what follows it begins with another token.
 */
const GLUED_SERVICE = String.raw`(s\.[\w-]{42}[AEIMQUYcgkosw048][A-Za-f][\w-]{40})`;
const GLUED_TEAM = String.raw`([0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67})`;
const GLUED_BATCH = String.raw`(b\.A[\w-]{250,}?)(?=s\.[\w-]{84}|b\.A|[0-9A-Za-z]{14}\.atlasv1\.|[^\w-]|$)`;

/** A service token without its `s.`: a double click stops at the dot. An accessor that is named as one is none. */
const BARE_SERVICE = String.raw`(?<!accessor[\\"'\s=:]{1,8})(?<![\w./+-])([\w-]{42}[AEIMQUYcgkosw048][A-Za-f][\w-]{40})(?![\w/+=-]|\.\w)`;

const IS_TOKEN = new RegExp(`${RESEMBLING}|${JWT}`);
const TOKENS = [...Object.values(TOKEN_FORMS), JWT, GLUED_BATCH, GLUED_SERVICE, GLUED_TEAM, RESEMBLING];
const CREDENTIALS = [...TOKENS, SECRET_ID, IDENTITY_DOCUMENT, BARE_SERVICE];
const SECRETS = new RegExp(DEPLOYMENT_SECRET, "g");

/** Tokens of full length, also directly after a name, a dot or dashes: `metadata.s.…`, `--s.…`. */
const IS_BESIDE =
  /(?:^|[\W_])((?:s|b|r)\.[\w-]{40,}|hv[sbr]\.[\w-]{20,}|\w+\.atlasv1\.\w+|e[wy][\w-]{8,}\.e[wy][\w-]+\.[\w-]{16,})/;

/** True for a text that contains something like a token. An accessor does not count. */
export function hasToken(text: string): boolean {
  return [text, decoded(text)].some((one) => IS_TOKEN.test(one) || IS_BESIDE.test(one));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** The seal keys, init tokens and cluster keys in a text, in the form that Grove generates; a seal key without its name too. */
export function deploymentSecretsIn(text: string): string[] {
  return [SECRETS, SEAL_KEY].flatMap((form) => [...text.matchAll(form)].flatMap(([, secret]) => secret ?? []));
}

/** Names of a deployment's own secrets. Their values may have any form. */
const SECRET_NAME = /GROVE[_-](?:SEAL|INIT|CLUSTER)[_-](?:KEY|TOKEN)/i;
/** Lines below such a name in which its value may be. */
const LINES_BELOW = 2;
/** A line above its name: `"value": "…",`. */
const VALUE_ABOVE = /^\W*value\b/i;

/** Finds the lines in which the value of a secret of a deployment may be, in a stream of lines. */
export class DeploymentSecretLines {
  #left = 0;
  #above = "";

  /** Takes the next line that is not blank. `above`: it names a secret whose value is in the line before it. */
  next(line: string): { readonly here: boolean; readonly above: boolean } {
    const isName = SECRET_NAME.test(line);
    if (isName) this.#left = LINES_BELOW + 1;
    const near = { here: this.#left > 0, above: isName && VALUE_ABOVE.test(this.#above) };
    this.#left--;
    this.#above = line;
    return near;
  }
}

/** The texts in a line that have the whole form of a token. */
export function wholeTokensIn(line: string): string[] {
  return found(line, Object.values(TOKEN_FORMS));
}

/** The tokens and JWTs in a line, also what only resembles a token, such as a damaged one. */
export function tokensIn(line: string): string[] {
  return found(line, TOKENS);
}

/** The tokens, JWTs, named secret-ids and signed identity documents in a line. */
export function credentialsIn(line: string): string[] {
  return found(line, CREDENTIALS);
}

/** The UUIDs and ids of leases in a line. Logs have many of them, and few are secrets. */
export function looseTextsIn(line: string): string[] {
  const matches = [LEASE_ID, LOOSE_UUID].flatMap((form) => [...line.matchAll(form)]);
  return [
    ...new Set(matches.flatMap(({ 1: text, index }) => (text && !NO_SECRET.test(line.slice(0, index)) ? [text] : []))),
  ];
}

function found(line: string, forms: readonly string[]): string[] {
  const tokens = new Set<string>();
  // Each match is removed, so that the looser forms match only in the remaining text.
  let rest = line;
  for (const form of forms) {
    for (const [, token = ""] of rest.matchAll(new RegExp(form, form === SECRET_ID ? "gi" : "g"))) tokens.add(token);
    for (const token of tokens) rest = rest.replaceAll(token, " ");
  }
  return [...tokens];
}

/** `NAME=`, `export NAME=`, `"name": `, `- name: `, `X-Vault-Token: ` and `Bearer ` before a value. */
const NAMED = /^(?:export\s+|-\s+)?["']?[\w.-]+["']?\s*[=:]\s*/;
const SCHEME = /^Bearer\s+/i;

/** The value in a line that assigns one, without quotes and commas. It may be a custom id, which has no fixed form. */
export function valueIn(line: string): string {
  const value = line
    .trim()
    .replace(NAMED, "")
    .trim()
    .replace(/[,;]+$/, "");
  return value
    .replace(/^(["'`])(.*)\1$/, "$2")
    .replace(SCHEME, "")
    .trim();
}
