import { expect, it } from "vitest";
import { readToken } from "../../../src/auth/caller.ts";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import type { Installation } from "../../../src/system/installation.ts";
import { newTokenIds } from "../../../src/token/ids.ts";
import { environmentWith } from "../../support/environment.ts";

const TREE = "00".repeat(32);

it("a token that one set of keys has verified is verified again by other keys", async () => {
  const keys = await importKeys(newKeyRing(0));
  const others = await importKeys(newKeyRing(0));
  const { token } = await newTokenIds(keys, TREE, Date.UTC(2027, 0, 1));
  const read = (of: typeof keys) => readToken(environmentWith({}), { keys: of } as unknown as Installation, token);
  expect(await read(keys)).toMatchObject({ kind: "service", text: token });
  expect(await read(others)).toBeNull();
  expect(await read(keys)).not.toBeNull();
});
