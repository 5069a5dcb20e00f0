import { expect, it } from "vitest";
import { readToken } from "../../../src/auth/caller.ts";
import type { CredentialFormat } from "../../../src/auth/credential.ts";
import { kindsOf } from "../../../src/auth/kinds.ts";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import type { Installation } from "../../../src/system/installation.ts";
import { newTokenIds } from "../../../src/token/ids.ts";
import { environmentWith } from "../../support/environment.ts";

const TREE = "00".repeat(32);

const KEYS = await importKeys(newKeyRing(0));
const INSTALLATION = { keys: KEYS } as unknown as Installation;

const NOTHING = { sealed: 0, tampered: 0, terms: [], failures: 0 };

function readWith(format: Pick<CredentialFormat, "matches">, text: string) {
  const read: CredentialFormat["read"] = async (_, text) =>
    text.endsWith("!") ? { kind: "registered", type: "marked", text, authenticate: async () => null } : null;
  const kind = { format: { ...format, read }, apis: [], holders: [], objects: {}, tidy: async () => NOTHING };
  const env = environmentWith({ kinds: kindsOf([], [kind]) });
  return readToken(env, INSTALLATION, text);
}

it("a text in the format of a registered kind is read by it, and refused where it refuses", async () => {
  const marked = { matches: (text: string) => text.startsWith("marked-") };
  expect(await readWith(marked, " marked-1! ")).toMatchObject({
    kind: "registered",
    type: "marked",
    text: "marked-1!",
  });
  expect(await readWith(marked, "marked-2")).toBeNull();
});

it("no registered kind is asked about a token with a prefix", async () => {
  const { token } = await newTokenIds(KEYS, TREE, Date.UTC(2027, 0, 1));
  const asked: string[] = [];
  const matches = (text: string) => asked.push(text) > 0;
  expect(await readWith({ matches }, token)).toMatchObject({ kind: "service" });
  expect(await readWith({ matches }, `${token}x`)).toBeNull();
  expect(asked).toEqual([]);
});

it("a token that one set of keys has verified is verified again by other keys", async () => {
  const keys = await importKeys(newKeyRing(0));
  const others = await importKeys(newKeyRing(0));
  const { token } = await newTokenIds(keys, TREE, Date.UTC(2027, 0, 1));
  const read = (of: typeof keys) => readToken(environmentWith({}), { keys: of } as unknown as Installation, token);
  expect(await read(keys)).toMatchObject({ kind: "service", text: token });
  expect(await read(others)).toBeNull();
  expect(await read(keys)).not.toBeNull();
});
