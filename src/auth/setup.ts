import { currentTime } from "../base/clock.ts";
import { equalTexts, toBase64Url } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { PLAIN_RECORD } from "../token/record.ts";
import { type Caller, kindName } from "./caller.ts";
import type { RegisteredCaller } from "./credential.ts";
import type { CredentialKind } from "./kinds.ts";
import type { ParsedToken } from "./read-token.ts";

/*
 * The declared start of an installation. A program that holds the init token begins it, makes the requests of a file
 * with the setup token, and finishes it. Until then no other request is served. The setup token has all rights and is
 * stored nowhere: it is a tag over a nonce, and ends when the start is finished or begun again.
 */

const WITHIN = /grove-setup\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.[\w-]{43}/g;
const FORM = new RegExp(`^${WITHIN.source}$`);
const UTF8 = new TextEncoder();
const TYPE = "setup";

/** The setup token of a nonce. */
export async function setupToken(keys: Keys, nonce: string): Promise<string> {
  const body = `grove-setup.${nonce}`;
  return `${body}.${toBase64Url(await keyedHash(keys.identity, UTF8.encode(`setup token\0${body}`)))}`;
}

/** The nonce of a setup token; null for a text that this installation did not make. */
async function nonceOf(keys: Keys, text: string): Promise<string | null> {
  const [, nonce] = FORM.exec(text) ?? [];
  if (nonce === undefined) return null;
  return equalTexts(await setupToken(keys, nonce), text) ? nonce : null;
}

/** True while the declared start of an installation is not complete and `token` is not its setup token. */
export async function isClosedTo({ keys, setup }: Installation, token: string): Promise<boolean> {
  return setup !== null && (await nonceOf(keys, token)) !== setup;
}

/** True for a setup token, and for its holder, whose accessor is the nonce. */
export function isOfSetup(token: ParsedToken | Caller): boolean {
  return kindName(token) === TYPE;
}

function holderOf(nonce: string): RegisteredCaller {
  const names = { policies: ["root"], meta: null, displayName: TYPE, path: "sys/init/begin" };
  return {
    kind: "registered",
    type: TYPE,
    record: { ...PLAIN_RECORD, ...names, createdAt: currentTime(), creationTtl: 0 },
    accessor: nonce,
    token: { expiresAt: null },
    ownRights: "",
    ownVerdict: () => null,
  };
}

export const SETUP: CredentialKind = {
  format: {
    matches: (text) => FORM.test(text),
    within: WITHIN,
    part: /^grove-setup\.[\w.-]{8,}$/,
    async read(keys, text) {
      const nonce = await nonceOf(keys, text);
      if (nonce === null) return null;
      return {
        kind: "registered",
        type: TYPE,
        text,
        async authenticate(env) {
          const loaded = await loadInstallation(env);
          return loaded.ok && loaded.value.setup === nonce ? holderOf(nonce) : null;
        },
      };
    },
  },
  apis: [],
  holders: [],
  objects: {},
  tidy: async () => ({ sealed: 0, tampered: 0, terms: [], failures: 0 }),
};
