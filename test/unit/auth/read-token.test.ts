import { expect, it } from "vitest";
import { callerOf } from "../../../src/auth/caller.ts";
import type { CredentialFormat, RegisteredCaller, RegisteredToken } from "../../../src/auth/credential.ts";
import { kindsOf } from "../../../src/auth/kinds.ts";
import { readToken } from "../../../src/auth/read-token.ts";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import type { Installation } from "../../../src/system/installation.ts";
import { indexWatermarks, sinceScope } from "../../../src/system/watermarks.ts";
import { newTokenIds } from "../../../src/token/ids.ts";
import { PLAIN_RECORD } from "../../../src/token/record.ts";
import { environmentWith } from "../../support/environment.ts";

const TREE = "00".repeat(32);

const KEYS = await importKeys(newKeyRing(0));
const INSTALLATION = { keys: KEYS } as unknown as Installation;

const NOTHING = { sealed: 0, tampered: 0, terms: [], failures: 0 };

function readWith(format: Pick<CredentialFormat, "matches">, text: string) {
  const read: CredentialFormat["read"] = async (_, text) =>
    text.endsWith("!") ? { kind: "registered", type: "marked", text, authenticate: async () => null } : null;
  const kind = {
    format: { ...format, within: /marked-\w+!/g, part: /^marked-/, read },
    apis: [],
    holders: [],
    objects: {},
    tidy: async () => NOTHING,
  };
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

it("a credential of a registered kind ends with all that was made in its time, whatever its kind says", async () => {
  const since = { number: 2000, scope: sinceScope(1000), createdBefore: null, cleaned: false };
  const installation = { keys: KEYS, watermarks: indexWatermarks([since], 2000) } as unknown as Installation;
  const holderMadeAt = (createdAt: number) => {
    const caller: RegisteredCaller = {
      kind: "registered",
      type: "marked",
      record: { ...PLAIN_RECORD, policies: [], displayName: "", path: "marked", createdAt, creationTtl: 0 },
      accessor: "m-1",
      token: { expiresAt: null },
      ownRights: "",
      ownVerdict: () => null,
    };
    const token: RegisteredToken = { kind: "registered", type: "marked", text: "", authenticate: async () => caller };
    return callerOf(environmentWith({}), installation, token);
  };
  expect(await holderMadeAt(1999)).toBeNull();
  expect(await holderMadeAt(2000)).toMatchObject({ accessor: "m-1" });
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
